import { checkOptionNames } from '../../core/check-options.ts'
import { didYouMean } from '../../core/did-you-mean.ts'
import { compileCapacity } from '../capacity/compile-capacity.ts'
import type { CompiledPolicy } from '../compiled-policy.ts'
import { compileLists } from '../condition/lists.ts'
import { checkDocument } from '../document/check-document.ts'
import type { PolicyDocument, RuleSpec } from '../document/document.ts'
import { isLegacyDocument, readLegacyDocument, withoutDatabaseFields } from '../document/legacy-document.ts'
import { measureSteps } from '../document/parse/document-bounds.ts'
import { parseDocument } from '../document/parse/parse-document.ts'
import { IssueList, PolicyError, type Report } from '../document/policy-error.ts'
import { versionSteps } from '../document/version.ts'
import type { LookupSource } from '../lookup/lookup-options.ts'
import { explainRequest } from '../match/explain-request.ts'
import { isForAll, matchOnly, matchRequest } from '../match/match-request.ts'
import { RuleIndex } from '../match/rule-index.ts'
import { compileRule, type RuleParts } from '../rule/compile-rule.ts'
import type { KeyFunctionLookup, KeyFunctions } from '../rule/key.ts'
import { LimitSets, SharedParts } from '../rule/shared-parts.ts'
import type { Environment } from '../rule/tier-environment.ts'
import { builtInTiers, withTiers } from '../rule/tiers.ts'
import { runAtOnce, runInSlices, type Steps } from '../steps.ts'
import { compileUpstreams } from '../upstream/compile-upstream.ts'

const names = ['env', 'functions', 'lookups']

/**
 * Checks a policy document and makes it ready for decisions. Throws a `PolicyError` that lists every mistake.
 *
 * @example compilePolicy({ service: 'api', rules: [{ name: 'per-user', limits: { rpm: 100 } }] })
 */
export function compilePolicy(document: unknown, options: CompileOptions = {}): CompiledPolicy {
  checkOptionNames('compilePolicy', options, names)
  return runAtOnce(compileSteps(document, options))
}

/**
 * The same for a policy that is replaced while decisions go on: a large one is compiled in slices of a few
 * milliseconds. An abort ends it.
 */
export async function compilePolicyInSlices(
  document: unknown,
  options: CompileOptions & { readonly signal?: AbortSignal | undefined } = {},
): Promise<CompiledPolicy> {
  checkOptionNames('compilePolicyInSlices', options, [...names, 'signal'])
  return runInSlices(compileSteps(document, options), options.signal)
}

export function* compileSteps(document: unknown, options: CompileOptions): Steps<CompiledPolicy> {
  const issues = new IssueList()
  const report: Report = (path, value, message) => issues.add(path, value, message)
  const parsed = typeof document === 'string' ? parseDocument(document) : document
  if (!(yield* measureSteps(parsed, report))) throw new PolicyError(issues.all)
  const checked = isLegacyDocument(parsed)
    ? readLegacyDocument(parsed, report)
    : yield* checkDocument(withoutDatabaseFields(parsed), report)
  const rules = checked && (yield* buildSteps(checked, options, report))
  const upstreams = compileUpstreams(checked?.upstreams ?? [], report)
  const capacity = checked?.capacity && compileCapacity(checked.capacity, 'capacity', report)
  if (!rules || issues.all.length > 0) throw new PolicyError(issues.all)
  return { ...rules, upstreams, capacity }
}

interface CompileOptions {
  /** Where tiers by environment are looked up; the environment of the process unless said otherwise. */
  readonly env?: Environment | undefined
  /** Functions that the document can name as keys, `key: fn:name`: by name, or what finds them. */
  readonly functions?: KeyFunctions | KeyFunctionLookup | undefined
  /** What rules can name as `tier: { lookup }`. Without them any name is accepted, and such tiers are not known. */
  readonly lookups?: LookupSource | undefined
}

/**
 * Makes a policy of the rules of a document whose shape is known to be right, and reports what makes no sense. Limits
 * in code need no more; its upstreams and its capacity are added by `compileSteps`.
 */
function* buildSteps(document: PolicyDocument, options: CompileOptions, report: Report): Steps<CompiledPolicy> {
  const { service } = document
  const sets = new LimitSets()
  const tiers = withTiers(builtInTiers, document.tiers, 'tiers', report)
  const env = options.env ?? globalThis.process?.env ?? {}
  const functions = options.functions ?? {}
  const lists = yield* compileLists(document.lists, report)
  const { lookups } = options
  const context = { service, tiers, lists, sets, shared: new SharedParts(), env, functions, lookups, report }
  const specs = document.rules ?? []
  if (document.rules === undefined && document.upstreams === undefined)
    report('rules', document.rules, 'list at least one rule, or upstreams')
  const rules: RuleParts[] = []
  for (const [index, spec] of specs.entries()) {
    rules.push(yield* compileRule(spec, `rules[${index}]`, context))
    yield
  }
  // Tiers that no rule reads are checked by themselves; elsewhere the rule's algorithm has its say.
  if (!specs.some(({ tier }) => tier !== undefined)) {
    for (const { specs: tier, path } of tiers.values()) if (path !== undefined) sets.readTier(tier, path, {}, report)
  }
  const byName = new Map(rules.map(({ rule }) => [rule.name, rule]))
  const first = new Map([...rules].reverse().map(({ rule }) => [rule.name, rule]))
  for (const [index, { rule }] of rules.entries()) {
    if (byName.get(rule.name) !== rule || first.get(rule.name) !== rule)
      report(`rules[${index}].name`, rule.name, 'another rule has this name; give it its own')
    for (const [i, name] of (rule.envoy?.replaces ?? []).entries()) {
      if (byName.has(name)) continue
      report(
        `rules[${index}].envoy.replaces[${i}]`,
        name,
        `no rule has this name; ${didYouMean(name, [...byName.keys()])}name one of this policy`,
      )
    }
  }
  const version = yield* versionSteps(document)
  const only = rules.length === 1 && isForAll(rules[0]!) ? rules[0]! : undefined
  const index = new RuleIndex(rules.map(({ key, matcher }) => (key ? matcher : undefined)))
  return {
    service,
    version,
    rules: rules.map(({ rule }) => rule),
    rule: (name) => byName.get(name),
    upstreams: [],
    lookups: specs.some(hasLookup) ? lookups : undefined,
    capacity: undefined,
    match: only
      ? (request, nowMs) => matchOnly(only, request, nowMs)
      : (request, nowMs, name) => matchRequest(rules, index, request, nowMs, name),
    explain: (request, nowMs) => explainRequest(rules, request, nowMs),
    readsBody: rules.some(({ readsBody }) => readsBody),
    delays: rules.some(({ rule }) => rule.delay !== undefined),
    mayBeFixed: rules.some(({ rule }) => rule.mayBeFixed),
    dated: rules.some(({ rule, matcher }) => rule.dated || matcher.conditions.some(({ dated }) => dated)),
  }
}

function hasLookup({ tier }: RuleSpec): boolean {
  return typeof tier === 'object' && tier.lookup !== undefined
}
