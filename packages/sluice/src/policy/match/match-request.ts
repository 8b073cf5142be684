import type { CompiledRule, Matched, MatchedRule } from '../compiled-policy.ts'
import { descriptorMethod } from '../condition/matcher.ts'
import { isWithin } from '../document/term.ts'
import type { RequestView } from '../request-view.ts'
import type { RuleParts } from '../rule/compile-rule.ts'
import type { RuleKey } from '../rule/rule-key.ts'
import type { Captured } from '../selector/selector.ts'
import type { RuleIndex } from './rule-index.ts'

/** Finds what the rules of a policy say to one request. */
export function matchRequest(
  rules: readonly RuleParts[],
  index: RuleIndex,
  request: RequestView,
  nowMs: number,
  only?: string,
): Matched {
  const matched: MatchedRule[] = []
  let refusedBy: CompiledRule | undefined
  const isDescriptor = request.method === descriptorMethod
  let isDecided = false
  for (const { index: position, captured } of index.find(request, nowMs)) {
    const parts = rules[position]!
    if (only !== undefined && parts.rule.name !== only) continue
    if (parts.isDated && !isWithin(parts.rule.term, nowMs)) continue
    const isGrouped = isDescriptor && parts.rule.forDescriptors
    if (isGrouped && isDecided) continue
    const found = chargeOf(parts, request, captured, nowMs)
    if (found) matched.push(found)
    else if (refuses(parts)) refusedBy ??= parts.rule
    if (found && isGrouped) isDecided = true
  }
  return { rules: matched, refusedBy }
}

/** The same for the only rule of a policy, if it is one for every request: there is nothing to look up. */
export function matchOnly(parts: RuleParts, request: RequestView, nowMs: number): Matched {
  if (request.preflight) return { rules: [], refusedBy: undefined }
  const found = chargeOf(parts, request, undefined, nowMs)
  if (found) return { rules: [found], refusedBy: undefined }
  return { rules: [], refusedBy: refuses(parts) ? parts.rule : undefined }
}

/** Whether a rule is one for every request. */
export function isForAll({ key, matcher, isDated }: RuleParts): boolean {
  return !isDated && key !== undefined && !matcher.methods && !matcher.patterns && matcher.conditions.length === 0
}

/** What a rule whose `match` holds charges the request; undefined when the request lacks the key. */
export function chargeOf(
  { rule, key, tier, shares, cost, denyMissing, missing }: RuleParts,
  request: RequestView,
  captured: Captured | undefined,
  nowMs: number,
): MatchedRule | undefined {
  const subject = key?.subject(request, captured) ?? (denyMissing ? undefined : key?.sharedSubject(request, captured))
  if (subject === undefined) {
    missing?.missed()
    return undefined
  }
  missing?.found()
  const name = tier?.ofRequest(request, captured, subject)
  const limits = rule.limitsFor(subject, name, nowMs, shares?.ofRequest(request, captured))
  return { rule, subject, limits, cost: cost(request, captured), tier: name }
}

/** Whether a request without the key is denied. A shadow rule never denies. */
export function refuses({ rule, denyMissing }: RuleParts): boolean {
  return denyMissing && rule.mode === 'enforce'
}

/** The words of `explain` that are said of rules without a document too. */
export const said: Readonly<
  Record<'everyRequest' | 'preflight', string> &
    Record<'lacks' | 'key', (key: RuleKey, request: RequestView, captured?: Captured) => string>
> = {
  everyRequest: 'applies to every request',
  preflight: 'the request is a CORS preflight; the rule names no path',
  lacks: (key, request, captured) => `the request lacks ${key.lacking(request, captured)}`,
  key: (key, request, captured) =>
    key.subject(request, captured) === undefined
      ? `in the bucket of all requests without a usable value of ${key.lacking(request, captured)}`
      : `key from ${keyText(key)}`,
}

function keyText({ alternatives }: RuleKey): string {
  const texts = alternatives.map(({ selectors }) => selectors?.map(({ text }) => text).join(' + ') ?? 'a function')
  return texts.length === 1 ? texts[0]! : `the first of ${texts.join(' / ')}`
}
