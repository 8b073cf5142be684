import type { DecisionCounts, HotKey, LimiterStats, ReceivedReport, RecountStats, RuleStats } from 'sluice/reports'
import * as z from 'zod'
import type { Stats } from '../../shapes/stats.ts'

const seconds = 60

/** Adds up the reports of a service. `top` is how many keys each rule has at most. */
export function fleetStats(
  reports: readonly ReceivedReport[],
  top: number,
  nowMs: number,
): Pick<Stats, 'decisions' | 'recent' | 'rules' | 'recounts' | 'replicas'> {
  const limiters = reports.flatMap(({ report, ageMs }) =>
    report.sections.filter(isLimiter).map((section) => ({ stats: section.stats, ageMs })),
  )
  return {
    decisions: limiters.map(({ stats }) => stats.decisions).reduce(add, none),
    recent: recentOf(limiters),
    rules: rulesOf(
      limiters.flatMap(({ stats }) => stats.rules),
      top,
    ),
    // Versions of Sluice that do not report them yet have none.
    recounts: recountsOf(limiters.flatMap(({ stats }) => stats.recounts ?? []).filter(isRecounts)),
    replicas: reports.map(({ report: { replica, host, pid, startedAt, sections, omitted, results = [] }, ageMs }) => ({
      replica,
      host,
      pid,
      uptimeSeconds: Math.max(0, Math.floor((nowMs - startedAt) / 1000)),
      ageMs,
      parts: sections.map(({ kind, name, stats, actions = [] }) => ({ kind, name, stats, actions })),
      omitted,
      results,
    })),
  }
}

type Section = ReceivedReport['report']['sections'][number]

/** Sums of many of these stay numbers. */
const count = z.number().min(0).max(Number.MAX_SAFE_INTEGER)
const counts = { allowed: count, denied: count, degraded: count }
const keys = z.array(z.object({ key: z.string(), count, error: count }))
const limiterStats = z.object({
  decisions: z.object(counts),
  recent: z.array(z.tuple([count, count, count])),
  rules: z.array(
    z.object({
      ...{ rule: z.string(), ...counts, hottest: keys, mostDenied: keys, keysOverMs: count.optional() },
      shadow: z.object({ allowed: count.optional(), denied: count.optional() }).optional(),
    }),
  ),
  // What came to reports later: it may be missing, but not be something else.
  second: count.optional(),
  latency: z.array(count).optional(),
  denials: z
    .array(
      z.object({
        ...{ number: count, agoMs: count, cost: count, retryAfterMs: count.nullish() },
        ...{ rule: z.string(), key: z.string(), reason: z.string(), limit: z.string().nullish() },
      }),
    )
    .optional(),
})

const recounts = z.object({ allowed: count, denied: count, failed: count, raised: count })

/** Reports may come from another version of Sluice, so what is added up is looked at first. */
export function isLimiter(section: Section): section is Section & { readonly stats: LimiterStats } {
  const isOne = judged.get(section) ?? (section.kind === 'limiter' && limiterStats.safeParse(section.stats).success)
  judged.set(section, isOne)
  return isOne
}

/** What was found of a section: the page looks at the same reports each second. */
const judged = new WeakMap<Section, boolean>()

const none: DecisionCounts = Object.freeze({ allowed: 0, denied: 0, degraded: 0 })

function add(a: DecisionCounts, b: DecisionCounts): DecisionCounts {
  return { allowed: a.allowed + b.allowed, denied: a.denied + b.denied, degraded: a.degraded + b.degraded }
}

/** Seconds are counted back from now, so an older report is moved by its age. */
function recentOf(limiters: readonly { readonly stats: LimiterStats; readonly ageMs: number }[]): DecisionCounts[] {
  return Array.from({ length: seconds }, (_, i) =>
    limiters
      .map(({ stats, ageMs }) => {
        const [allowed = 0, denied = 0, degraded = 0] = stats.recent[i + Math.round(ageMs / 1000)] ?? []
        return { allowed, denied, degraded }
      })
      .reduce(add, none),
  )
}

function rulesOf(rules: readonly RuleStats[], top: number): RuleStats[] {
  return [...grouped(rules)]
    .map(([rule, each]) => ({
      rule,
      ...each.reduce(add, none),
      shadow: {
        allowed: each.reduce((sum, { shadow }) => sum + (shadow?.allowed ?? 0), 0),
        denied: each.reduce((sum, { shadow }) => sum + (shadow?.denied ?? 0), 0),
      },
      keysOverMs: each.reduce((most, { keysOverMs }) => Math.max(most, keysOverMs ?? 0), 0),
      hottest: keysOf(
        each.flatMap(({ hottest }) => hottest),
        top,
      ),
      mostDenied: keysOf(
        each.flatMap(({ mostDenied }) => mostDenied),
        top,
      ),
    }))
    .sort((a, b) => b.allowed + b.denied - a.allowed - a.denied)
}

const isRecounts = (each: RecountStats): boolean => recounts.safeParse(each).success

function recountsOf(recounts: readonly RecountStats[]): RecountStats[] {
  const sum = (each: readonly RecountStats[], of: 'allowed' | 'denied' | 'failed' | 'raised'): number =>
    each.reduce((total, counts) => total + counts[of], 0)
  return [...grouped(recounts)].map(([rule, each]) => ({
    rule,
    allowed: sum(each, 'allowed'),
    denied: sum(each, 'denied'),
    failed: sum(each, 'failed'),
    raised: sum(each, 'raised'),
  }))
}

function grouped<Stats extends { readonly rule: string }>(rules: readonly Stats[]): Map<string, Stats[]> {
  const byName = new Map<string, Stats[]>()
  for (const each of rules) {
    const found = byName.get(each.rule)
    if (found === undefined) byName.set(each.rule, [each])
    else found.push(each)
  }
  return byName
}

function keysOf(keys: readonly HotKey[], top: number): HotKey[] {
  const sums = new Map<string, HotKey>()
  for (const { key, count, error } of keys) {
    const sum = sums.get(key)
    sums.set(key, { key, count: count + (sum?.count ?? 0), error: error + (sum?.error ?? 0) })
  }
  return [...sums.values()].sort((a, b) => b.count - a.count).slice(0, top)
}
