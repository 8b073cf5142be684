import { fixedLimits, limitSet } from '../../core/engine/any-limit-set.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { show } from '../../core/errors.ts'
import { keyPrefix } from '../../core/key.ts'
import { warnOnce } from '../../core/observe/warn-once.ts'
import type { CompiledRule } from '../compiled-policy.ts'
import type { Lists } from '../condition/lists.ts'
import { compileMatch, descriptorMethod, type Matcher } from '../condition/matcher.ts'
import { captureNames } from '../condition/path-pattern.ts'
import type { LimitsSpec, RuleSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import { isDated, isWithin, readTerm } from '../document/term.ts'
import { isLimitsText } from '../lookup/is-limits-text.ts'
import { readLimitsText } from '../lookup/limits-text.ts'
import type { LookupSource } from '../lookup/lookup-options.ts'
import type { Selector } from '../selector/selector.ts'
import type { Steps } from '../steps.ts'
import { compileBlock } from './block-spec.ts'
import { type CostReader, compileCost } from './cost.ts'
import { compileDelay } from './delay-spec.ts'
import { compileKey, type KeyFunctionLookup, type KeyFunctions } from './key.ts'
import { MissingKeys } from './missing-keys.ts'
import { compileOverrides, type Overrides } from './overrides.ts'
import { type RuleKey, whyNoRequestHas } from './rule-key.ts'
import { ruleWarnings } from './rule-warnings.ts'
import type { SharedParts } from './shared-parts.ts'
import { LimitSets } from './shared-parts.ts'
import { checkShared, compileShares, type Shares } from './shares.ts'
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
  /** Counts requests without the key, where the document does not say that they may pass. */
  readonly missing: MissingKeys | undefined
  readonly cost: CostReader
  readonly tier: TierFinder | undefined
  readonly shares: Shares | undefined
  readonly readsBody: boolean
  /** Whether the rule itself begins or ends some day. */
  readonly isDated: boolean
}

/** What the rules of a policy share while they are compiled. */
export interface RuleContext {
  readonly service: string
  readonly tiers: Tiers
  readonly lists: Lists
  readonly sets: LimitSets
  readonly shared: SharedParts
  readonly env: Environment
  readonly functions: KeyFunctions | KeyFunctionLookup
  readonly lookups: LookupSource | undefined
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
  if (spec.lease && spec.block)
    report(
      `${path}.block`,
      spec.block,
      'what is spent ahead of the store is denied without it; leave lease or block out',
    )
  if (spec.block && typeof spec.limits === 'string')
    report(`${path}.block`, spec.block, `nothing is counted with limits: ${spec.limits}; give limits that are`)
  if (spec.shares) checkBeside(spec, path, report)
  const match = compileMatch(spec.match, `${path}.match`, context.lists, report)
  const matcher = match.methods ? { ...match, methods: shared.methods(match.methods) } : match
  const forDescriptors = matcher.methods?.has(descriptorMethod) ?? false
  if (spec.envoy && !forDescriptors)
    report(`${path}.envoy`, spec.envoy, `only rules for descriptors have it; add match.method: ${descriptorMethod}`)
  const term = readTerm(spec, path, report)
  const cost = compileCost(spec, `${path}.cost`, report)
  const { tier, shares, limitsFor, overrideFor, overrides, mayBeFixed } = yield* compileLimitsInForce(
    spec,
    key,
    path,
    context,
  )
  const selectors = key?.alternatives.flatMap(({ selectors }) => selectors ?? []) ?? []
  checkCaptures(selectors, matcher, path, report)
  const conditions = matcher.conditions.map(({ selector }) => selector)
  const looks = [...selectors, ...conditions, cost.selector, tier?.selector, shares?.selector]
  const reads = looks.filter((selector) => selector !== undefined)
  const warned = { name: spec.name, key, methods: matcher.methods, overrides, term }
  let lasting: readonly string[] | undefined
  return {
    rule: {
      name: spec.name,
      prefix: keyPrefix(context.service, spec.name),
      onStoreFailure: spec.onStoreFailure ?? 'open',
      lease: spec.lease ?? false,
      mode: spec.mode ?? 'enforce',
      answer: spec.answer,
      delay: spec.delay && compileDelay(spec.delay, `${path}.delay`, report),
      term,
      forDescriptors,
      envoy: spec.envoy,
      keyed: spec.key !== undefined,
      estimatesCost: cost.isEstimate,
      dated: isDated(spec) || (spec.overrides?.some(isDated) ?? false),
      limitsVary: isDated(spec) || !!spec.tier || !!spec.shares || (overrides !== undefined && !overrides.isEmpty),
      tiers: tier?.names,
      classes: shares?.classes,
      mayBeFixed: isDated(spec) || mayBeFixed,
      reads,
      whyNoRequestHas: (parts) => key && whyNoRequestHas(key, parts),
      // Out of its term a rule limits nothing, also where code names it.
      limitsFor: isDated(spec)
        ? (subject, name, nowMs, of) =>
            isWithin(term, nowMs) ? limitsFor(subject, name, nowMs, of) : fixedLimits.unlimited
        : limitsFor,
      overrideFor,
      isTierUnknown: (subject, nowMs, request) =>
        (tier?.isUnknown(request) ?? false) && overrideFor(subject, nowMs) !== 'in-force',
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
    missing: spec.onMissing === undefined && spec.key !== undefined ? new MissingKeys(spec.name) : undefined,
    cost: cost.read,
    tier,
    shares,
    readsBody: reads.some(({ root }) => root === 'body'),
    isDated: isDated(spec),
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
  for (const field of ['match', 'onMissing', 'shares'] as const) {
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

// Both count units without saying of which class they were.
function checkBeside({ lease, onStoreFailure, shares }: RuleSpec, path: string, report: Report): void {
  if (lease) report(`${path}.shares`, shares, 'units that are drawn ahead have no class; leave lease or shares out')
  if (onStoreFailure === 'recount')
    report(`${path}.shares`, shares, 'a recount does not tell classes apart; leave shares or recount out')
}

interface LimitsInForce extends Pick<CompiledRule, 'limitsFor' | 'overrideFor'> {
  readonly tier: TierFinder | undefined
  readonly shares: Shares | undefined
  readonly overrides: Overrides | undefined
  readonly mayBeFixed: boolean
}

/** Works out which limits are in force for whom: an override's, else the tier's, else the rule's own. */
function* compileLimitsInForce(
  spec: RuleSpec,
  key: RuleKey | undefined,
  path: string,
  { tiers: known, sets, env, lookups, report }: RuleContext,
): Steps<LimitsInForce> {
  let mayBeFixed = false
  const block = spec.block && compileBlock(spec.block, `${path}.block`, report)
  const shares = spec.shares && compileShares(spec.shares, `${path}.shares`, report)
  const defaults = { algorithm: spec.algorithm, burst: spec.burst, block }
  const read = (limits: LimitsSpec, at: string): LimitSet | undefined => readTier([limits], at)
  const readTier = (specs: readonly LimitsSpec[], at: string, told = report, from = sets): LimitSet | undefined => {
    const set = from.readTier(specs, at, defaults, told)
    const limits = specs.at(-1)!
    if (set?.fixed) {
      mayBeFixed = true
      return set
    }
    if (set && spec.lease) checkLease(set, limits, at, told)
    if (set && spec.onStoreFailure === 'recount') checkRecount(set, limits, at, told)
    if (set && shares) checkShared(set, limits, at, told)
    return set
  }
  const own = spec.limits && read(spec.limits, `${path}.limits`)
  const overrides = spec.overrides && (yield* compileOverrides(spec.overrides, key, read, `${path}.overrides`, report))
  const overrideFor: CompiledRule['overrideFor'] = (subject, nowMs) => overrides?.stateOf(subject, nowMs)
  if (spec.tier === undefined) {
    if (spec.tiers) report(`${path}.tiers`, spec.tiers, 'say with tier how the tier of a request is found')
    if (!spec.limits) report(`${path}.limits`, spec.limits, 'give at least one limit, or a tier')
    checkBurst(spec, [own], path, report)
    if (overrides === undefined) checkDelay(spec, own, path, report)
    const limitsFor = withShares(
      shares,
      withOverrides(overrides, () => own ?? noLimits),
    )
    return { tier: undefined, shares, limitsFor, overrideFor, overrides, mayBeFixed }
  }
  const tiers = withTiers(known, spec.tiers, `${path}.tiers`, report)
  const byTier = new Map<string, LimitSet>()
  const names = new Set(tiers.keys())
  for (const [name, { specs, path: at }] of tiers) {
    // A built-in tier that makes no sense with the rule's algorithm is not there.
    const set = at === undefined ? sets.readTier(specs, name, defaults, () => {}) : readTier(specs, at)
    if (set) byTier.set(name, set)
    else if (at === undefined) names.delete(name)
  }
  const tier = compileTier(spec.tier, key, names, env, lookups, `${path}.tier`, report)
  if (!spec.limits && tier.otherwise === undefined) {
    report(
      `${path}.tier`,
      spec.tier,
      'say what holds when the tier is not known: give the rule limits, or the tier a default',
    )
  }
  checkBurst(spec, [own, ...byTier.values()], path, report)
  const otherwise = (tier.otherwise === undefined ? own : byTier.get(tier.otherwise)) ?? noLimits
  const limitsByText = readLimitsText(otherwise, spec.name, (limits, told) =>
    readTier([limits], 'limits', told, new LimitSets()),
  )
  const warn = warnOnce('SLUICE_UNKNOWN_TIER')
  const limitsFor: CompiledRule['limitsFor'] = (subject, given) => {
    const name = given ?? tier.ofSubject(subject) ?? ''
    const known = byTier.get(name)
    if (known !== undefined) return known
    if (isLimitsText(name)) return limitsByText(name)
    if (given !== undefined) warn(`The rule ${spec.name} has no tier ${show(given)}.`)
    return otherwise
  }
  const inForce = withShares(shares, withOverrides(overrides, limitsFor))
  return { tier, shares, limitsFor: inForce, overrideFor, overrides, mayBeFixed }
}

function withShares(shares: Shares | undefined, limitsFor: CompiledRule['limitsFor']): CompiledRule['limitsFor'] {
  if (!shares) return limitsFor
  return (subject, tier, nowMs, of) => shares.limitsOf(limitsFor(subject, tier, nowMs), of)
}

function withOverrides(
  overrides: Overrides | undefined,
  otherwise: CompiledRule['limitsFor'],
): CompiledRule['limitsFor'] {
  if (!overrides || overrides.isEmpty) return otherwise
  return (subject, tier, nowMs) => overrides.find(subject, nowMs)?.limits ?? otherwise(subject, tier, nowMs)
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

// A larger limit, by a tier or an override, may have room for what is slowed down.
function checkDelay({ delay }: RuleSpec, own: LimitSet | undefined, path: string, report: Report): void {
  const most = own?.limits[0]?.burst
  if (delay && delay.after >= most!)
    report(`${path}.delay.after`, delay.after, `use less than the first limit, ${most}`)
}

function checkBurst(spec: RuleSpec, sets: readonly (LimitSet | undefined)[], path: string, report: Report): void {
  const made = sets.filter((set) => set !== undefined)
  if (spec.burst === undefined || made.length === 0) return
  if (!made.some(({ limits }) => limits.some(({ algorithm }) => algorithm === 'gcra'))) {
    report(`${path}.burst`, spec.burst, 'only gcra limits have a burst, and this rule has none')
  }
}
