import { show } from '../../core/errors.ts'
import type { RuleTrace } from '../compiled-policy.ts'
import { descriptorMethod, hasMethod, type Matcher } from '../condition/matcher.ts'
import { captureNames, matchPattern } from '../condition/path-pattern.ts'
import type { RequestView } from '../request-view.ts'
import type { RuleParts } from '../rule/compile-rule.ts'
import type { Captured } from '../selector/selector.ts'
import { chargeOf, refuses, said } from './match-request.ts'

const fixedWords = { unlimited: 'nothing is limited (limits: unlimited)', deny: 'nothing passes (limits: deny)' }

/** Why each rule does or does not apply. Each rule is tried by itself, so this costs more than matching. */
export function explainRequest(rules: readonly RuleParts[], request: RequestView, nowMs: number): readonly RuleTrace[] {
  const isDescriptor = request.method === descriptorMethod
  let decidedBy: string | undefined
  return rules.map((parts) => {
    const { rule, key, matcher } = parts
    const isGrouped = isDescriptor && rule.forDescriptors
    const not = (why: string, refuses = false): RuleTrace => ({
      rule: rule.name,
      mode: rule.mode,
      matched: false,
      refuses,
      why,
      match: undefined,
    })
    if (!key) return not('has no key, so only take() and its like use it')
    if (nowMs < rule.term.fromMs) return not(`begins ${new Date(rule.term.fromMs).toISOString()}`)
    if (nowMs >= rule.term.untilMs) return not(`ended ${new Date(rule.term.untilMs).toISOString()}`)
    const path = matchedPath(matcher, request)
    const failed = failedCondition(matcher, request, nowMs, path !== undefined)
    if (failed !== undefined || !path) return not(failed ?? '')
    if (isGrouped && decidedBy !== undefined)
      return not(`the rule ${decidedBy} comes first and decides on the descriptor`)
    const match = chargeOf(parts, request, path.captured, nowMs)
    if (!match) {
      const lacks = said.lacks(key, request, path.captured)
      return refuses(parts) ? not(`${lacks}, and onMissing: deny refuses it`, true) : not(lacks)
    }
    if (isGrouped) decidedBy = rule.name
    const override = rule.overrideFor(match.subject, nowMs)
    const share = match.limits.limits.at(-1)?.share
    const why = [
      ...saidBy(matcher, path.pattern, request),
      said.key(key, request, path.captured),
      ...(match.limits.fixed ? [fixedWords[match.limits.fixed]] : []),
      ...(share ? [`class ${share.class}, which is guaranteed ${share.guaranteed}`] : []),
      ...(parts.tier?.namesNone(request, path.captured)
        ? [`${parts.tier.selector?.text} names no tier of the rule`]
        : []),
      ...(override === 'in-force' ? ['limits from an override for this key'] : []),
      ...(override === 'pending' ? ['an override for this key is yet to begin'] : []),
      ...(override === 'expired' ? ['an override for this key has expired'] : []),
    ].join(', ')
    return { rule: rule.name, mode: rule.mode, matched: true, refuses: false, why, match }
  })
}

interface MatchedPath {
  readonly pattern: string | undefined
  readonly captured: Captured | undefined
}

function matchedPath({ patterns }: Matcher, request: RequestView): MatchedPath | undefined {
  if (!patterns) return { pattern: undefined, captured: undefined }
  for (const pattern of patterns) {
    const captures = matchPattern(pattern, typeof request.path === 'string' ? request.path : '')
    if (captures) return { pattern: pattern.text, captured: { names: captureNames(pattern), values: captures } }
  }
  return undefined
}

/**
 * The first condition that does not hold. Names what the rule wants, never what the request carries, which may be
 * secret.
 */
function failedCondition(
  { methods, patterns, conditions }: Matcher,
  request: RequestView,
  nowMs: number,
  pathFits: boolean,
): string | undefined {
  if (request.preflight && !patterns) return said.preflight
  if (!hasMethod(methods, request))
    return `method is ${show(request.method)}; the rule wants ${[...methods!].join(' or ')}`
  if (!pathFits)
    return `path is ${show(request.path)}; the rule wants ${patterns!.map(({ text }) => text).join(' or ')}`
  const failed = conditions.find((condition) => !condition.holds(request, nowMs))
  return failed && `the rule wants ${failed.wanted}`
}

function saidBy(
  { methods, conditions }: Matcher,
  pattern: string | undefined,
  request: RequestView,
): readonly string[] {
  const words = [
    ...(methods ? [`method is ${[...methods].join(' or ')}`] : []),
    ...(pattern === undefined ? [] : [`path fits ${pattern}`]),
    ...conditions.map(({ wanted, selector }) =>
      selector?.isUnreadable(request)
        ? `${selector.text} could not be read and may be anything`
        : wanted.replace(/ (?:not )?to be /, (words) => (words.startsWith(' not') ? ' is not ' : ' is ')),
    ),
  ]
  return words.length === 0 ? [said.everyRequest] : words
}
