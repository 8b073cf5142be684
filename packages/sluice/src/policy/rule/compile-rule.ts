import { type LimitSet, limitSet } from '../../core/engine/limit-set.ts'
import { keyPrefix } from '../../core/key.ts'
import type { CompiledRule } from '../compiled-policy.ts'
import { compileMatch, type Matcher } from '../condition/matcher.ts'
import { descriptorMethod } from '../condition/methods.ts'
import { captureNames } from '../condition/path-pattern.ts'
import type { LimitsSpec, RuleSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import type { Selector } from '../selector/selector.ts'
import type { Steps } from '../steps.ts'
import { type CostReader, compileCost } from './cost.ts'
import { compileKey, type KeyFunctionLookup, type KeyFunctions, type RuleKey, whyNoRequestHas } from './key.ts'
import type { LimitSets } from './limit-sets.ts'
import { compileOverrides, type Overrides } from './overrides.ts'
import { ruleWarnings } from './rule-warnings.ts'
import type { SharedParts } from './shared-parts.ts'
import { compileTier, type TierFinder } from './tier.ts'
import type { Environment } from './tier-environment.ts'
import { type Tiers, withTiers } from './tiers.ts'

/** A rule with all that matching needs. */
export interface RuleParts {
  readonly rule: CompiledRule
  readonly matcher: Matcher
  /** Undefined for a rule that only `take` uses. */
  readonly key: RuleKey | undefined
  readonly denyMissing: boolean
  readonly cost: CostReader
  readonly tier: TierFinder | undefined
  readonly readsBody: boolean
}

/** What the rules of a policy share while they are compiled. */
export interface RuleContext {
  readonly service: string
  readonly tiers: Tiers
  readonly sets: LimitSets
  readonly shared: SharedParts
  readonly env: Environment
  readonly functions: KeyFunctions | KeyFunctionLookup
  readonly report: Report
}

const noLimits = limitSet([])

/** Compiles one rule; mistakes go to `report`. */
export function* compileRule(spec: RuleSpec, path: string, context: RuleContext): Steps<RuleParts> {
  const { report, shared } = context
  const key =
    spec.key === undefined
      ? undefined
      : shared.key(spec.key, report, (told) => compileKey(spec.key!, `${path}.key`, context.functions, told))
  if (!key) checkKeyless(spec, path, report)
  if (spec.lease && spec.onStoreFailure === 'recount')
    report(`${path}.lease`, spec.lease, 'units that are drawn ahead cannot be recounted; leave lease out')
  const match = compileMatch(spec.match, `${path}.match`, report)
  const matcher = match.methods ? { ...match, methods: shared.methods(match.methods) } : match
  const cost = compileCost(spec, `${path}.cost`, report)
  const { tier, limitsFor, overrideFor, overrides } = yield* compileLimitsInForce(spec, key, path, context)
  const selectors = key?.alternatives.flatMap(({ selectors }) => selectors ?? []) ?? []
  checkCaptures(selectors, matcher, path, report)
  const looks = [...selectors, ...matcher.conditions.map(({ selector }) => selector), cost.selector, tier?.selector]
  const reads = looks.filter((selector) => selector !== undefined)
  const warned = { name: spec.name, key, methods: matcher.methods, overrides }
  let lasting: readonly string[] | undefined
  return {
    rule: {
      name: spec.name,
      prefix: keyPrefix(context.service, spec.name),
      onStoreFailure: spec.onStoreFailure ?? 'open',
      lease: spec.lease ?? false,
      mode: spec.mode ?? 'enforce',
      forDescriptors: matcher.methods?.has(descriptorMethod) ?? false,
      keyed: spec.key !== undefined,
      estimatesCost: cost.isEstimate,
      dated: spec.overrides?.some(({ until }) => until !== undefined) ?? false,
      limitsVary: (overrides?.size ?? 0) > 0 || spec.tier !== undefined,
      reads,
      whyNoRequestHas: (parts) => key && whyNoRequestHas(key, parts),
      limitsFor,
      overrideFor,
      warnings(nowMs) {
        if (nowMs !== undefined) return ruleWarnings(warned, nowMs)
        // Every health check asks for these, and there may be very many overrides.
        lasting ??= ruleWarnings(warned, undefined)
        return lasting
      },
    },
    matcher,
    key,
    denyMissing: spec.onMissing === 'deny',
    cost: cost.read,
    tier,
    readsBody: reads.some(({ root }) => root === 'body'),
  }
}

// A request's own params may have other names, but a rule that captures some and reads another is a typing mistake.
function checkCaptures(selectors: readonly Selector[], { patterns = [] }: Matcher, path: string, report: Report): void {
  const names = patterns.flatMap(captureNames)
  if (names.length === 0) return
  for (const { root, text } of selectors) {
    const name = root === 'params' ? /^params\.([A-Za-z_]\w*)(?!.*\?\?)/.exec(text)?.[1] : undefined
    if (name === undefined || names.includes(name)) continue
    report(`${path}.key`, text, `no path of the rule captures :${name}; captured are ${names.join(', ')}`)
  }
}

function checkKeyless(spec: RuleSpec, path: string, report: Report): void {
  for (const field of ['match', 'onMissing'] as const) {
    if (spec[field] === undefined) continue
    report(
      `${path}.${field}`,
      spec[field],
      'a rule without a key never meets a request; add a key, such as const:all for one bucket',
    )
  }
  if (typeof spec.cost !== 'number' && spec.cost !== undefined) {
    report(`${path}.cost`, spec.cost, 'a rule without a key never meets a request; use a number')
  }
}

interface LimitsInForce extends Pick<CompiledRule, 'limitsFor' | 'overrideFor'> {
  readonly tier: TierFinder | undefined
  readonly overrides: Overrides | undefined
}

/** Works out which limits are in force for whom: an override's, else the tier's, else the rule's own. */
function* compileLimitsInForce(
  spec: RuleSpec,
  key: RuleKey | undefined,
  path: string,
  { tiers: known, sets, env, report }: RuleContext,
): Steps<LimitsInForce> {
  const read = (limits: LimitsSpec, at: string): LimitSet | undefined => {
    const set = sets.read(limits, at, spec, report)
    if (set && spec.lease) checkLease(set, limits, at, report)
    if (set && spec.onStoreFailure === 'recount') checkRecount(set, limits, at, report)
    return set
  }
  const own = spec.limits && read(spec.limits, `${path}.limits`)
  const overrides = spec.overrides && (yield* compileOverrides(spec.overrides, key, read, `${path}.overrides`, report))
  const overrideFor: CompiledRule['overrideFor'] = (subject, nowMs) => {
    const override = overrides?.get(subject)
    return override && (nowMs < override.untilMs ? 'in-force' : 'expired')
  }
  if (spec.tier === undefined) {
    if (spec.tiers) report(`${path}.tiers`, spec.tiers, 'say with tier how the tier of a request is found')
    if (!spec.limits) report(`${path}.limits`, spec.limits, 'give at least one limit, or a tier')
    checkBurst(spec, [own], path, report)
    return { tier: undefined, limitsFor: withOverrides(overrides, () => own ?? noLimits), overrideFor, overrides }
  }
  const tiers = withTiers(known, spec.tiers, `${path}.tiers`)
  const byTier = new Map<string, LimitSet>()
  const names = new Set(tiers.keys())
  for (const [name, { spec: limits, path: at }] of tiers) {
    // A built-in tier that makes no sense with the rule's algorithm is not there.
    const set = at === undefined ? sets.read(limits, name, spec, () => {}) : read(limits, at)
    if (set) byTier.set(name, set)
    else if (at === undefined) names.delete(name)
  }
  const tier = compileTier(spec.tier, key, names, env, `${path}.tier`, report)
  if (!spec.limits && tier.otherwise === undefined) {
    report(
      `${path}.tier`,
      spec.tier,
      'say what holds when the tier is not known: give the rule limits, or the tier a default',
    )
  }
  checkBurst(spec, [own, ...byTier.values()], path, report)
  const otherwise = (tier.otherwise === undefined ? own : byTier.get(tier.otherwise)) ?? noLimits
  const limitsFor: CompiledRule['limitsFor'] = (subject, name) =>
    byTier.get(name ?? tier.ofSubject(subject) ?? '') ?? otherwise
  return { tier, limitsFor: withOverrides(overrides, limitsFor), overrideFor, overrides }
}

function withOverrides(
  overrides: Overrides | undefined,
  otherwise: CompiledRule['limitsFor'],
): CompiledRule['limitsFor'] {
  if (!overrides || overrides.size === 0) return otherwise
  return (subject, tier, nowMs) => {
    const override = overrides.get(subject)
    return override && nowMs < override.untilMs ? override.limits : otherwise(subject, tier, nowMs)
  }
}

// Units drawn ahead must be spent in the window they were debited from, and only these two have windows that both ends
// agree on.
function checkLease({ limits }: LimitSet, spec: LimitsSpec, path: string, report: Report): void {
  const other = limits.find(({ algorithm }) => algorithm !== 'fixed-window' && algorithm !== 'calendar')
  if (!other) return
  report(
    path,
    spec,
    `lease needs fixed-window or calendar limits, not ${other.algorithm}: only there is a unit that is debited and spent in the same window counted exactly`,
  )
}

// A source of truth counts one period that both ends know.
function checkRecount({ limits }: LimitSet, spec: LimitsSpec, path: string, report: Report): void {
  if (limits.length === 1 && limits[0]!.algorithm === 'calendar') return
  report(
    path,
    spec,
    'onStoreFailure: recount needs exactly one limit, per day, week or month of a calendar, and without pace',
  )
}

function checkBurst(spec: RuleSpec, sets: readonly (LimitSet | undefined)[], path: string, report: Report): void {
  const made = sets.filter((set) => set !== undefined)
  if (spec.burst === undefined || made.length === 0) return
  if (!made.some(({ limits }) => limits.some(({ algorithm }) => algorithm === 'gcra'))) {
    report(`${path}.burst`, spec.burst, 'only gcra limits have a burst, and this rule has none')
  }
}
