import { makeLimitSet, maxLimitsPerRule, plainKinds } from '../../core/engine/limit-set.ts'
import { keyPrefix } from '../../core/key.ts'
import type { CompiledPolicy, CompiledRule } from '../compiled-policy.ts'
import type { LimitsSpec, PolicyDocument } from '../document/document.ts'
import { endless } from '../document/term.ts'
import { versionSteps } from '../document/version.ts'
import { readLimits } from '../limit/limit-spec.ts'
import { arePlainLimits } from '../limit/plain-limits.ts'
import { matchOnly, said } from '../match/match-request.ts'
import type { RuleParts } from '../rule/compile-rule.ts'
import { MissingKeys } from '../rule/missing-keys.ts'
import { bySelectors, keyOf, whyNoRequestHas } from '../rule/rule-key.ts'
import { ipSelector } from '../selector/selector.ts'
import { runAtOnce } from '../steps.ts'

const key = keyOf([bySelectors([ipSelector])], false)

/**
 * The policy of one rule, by address, that `limits` in code stand for, without anything that only documents can say.
 * Undefined for limits that are not surely right: the compiler of documents then says what is wrong, if anything.
 */
export function plainPolicy(service: string, name: string, limits: LimitsSpec): CompiledPolicy | undefined {
  if (!isName(service) || !isName(name) || !arePlainLimits(limits)) return undefined
  let isRight = true
  const found = readLimits(limits as Exclude<LimitsSpec, string>, 'limits', {}, () => {
    isRight = false
  })
  if (!isRight || found.length > maxLimitsPerRule) return undefined
  const set = makeLimitSet(plainKinds, found)
  const rule: CompiledRule = {
    name,
    prefix: keyPrefix(service, name),
    onStoreFailure: 'open',
    lease: false,
    mode: 'enforce',
    answer: undefined,
    delay: undefined,
    term: endless,
    forDescriptors: false,
    envoy: undefined,
    keyed: true,
    estimatesCost: false,
    dated: false,
    limitsVary: false,
    classes: undefined,
    mayBeFixed: false,
    reads: [ipSelector],
    whyNoRequestHas: (parts) => whyNoRequestHas(key, parts),
    limitsFor: () => set,
    overrideFor: () => undefined,
    isTierUnknown: () => false,
    warnings: () => [],
  }
  const parts: RuleParts = {
    ...{ rule, key, matcher: { methods: undefined, patterns: undefined, conditions: [] } },
    ...{ denyMissing: false, missing: new MissingKeys(name), cost: () => 1, tier: undefined, shares: undefined },
    ...{ readsBody: false, isDated: false },
  }
  return {
    service,
    version: runAtOnce(versionSteps(plainDocument(service, name, limits))),
    rules: [rule],
    rule: (asked) => (asked === name ? rule : undefined),
    upstreams: [],
    lookups: undefined,
    capacity: undefined,
    match: (request, nowMs) => matchOnly(parts, request, nowMs),
    explain(request, nowMs) {
      const match = matchOnly(parts, request, nowMs).rules[0]
      const whyNot = request.preflight ? said.preflight : said.lacks(key, request)
      const why = match ? `${said.everyRequest}, ${said.key(key, request)}` : whyNot
      return [{ rule: name, mode: 'enforce', matched: match !== undefined, why, refuses: false, match }]
    },
    readsBody: false,
    delays: false,
    mayBeFixed: false,
    dated: false,
  }
}

/** The document that says the same. */
export function plainDocument(service: string, name: string, limits: LimitsSpec): PolicyDocument {
  return { service, rules: [{ name, key: 'ip', limits }] }
}

function isName(name: unknown): boolean {
  return typeof name === 'string' && /^[A-Za-z0-9][\w.-]{0,63}$/.test(name)
}
