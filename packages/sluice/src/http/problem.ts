import type { Problem } from '../admission/outcome.ts'
import { formatDuration } from '../core/duration.ts'
import type { LimitStatus } from '../core/engine/ask.ts'
import type { Decision } from '../limiter/decision/decision.ts'
import type { RuleAnswer } from '../policy/document/document.ts'
import type { NameOf } from './headers/header.ts'

const registry = 'https://iana.org/assignments/http-problem-types'

/**
 * The problem for a client that was denied, without what changes from second to second: 429 when a quota is used up or
 * the key is blocked,
 * 503 when the store failed and the rule is closed, 400 when the request lacks what a rule's key is made of, and 403
 * when the policy denies the key, as waiting would not help there. `answer` is what the rule says instead.
 */
function problemOf(decision: Decision, nameOf: NameOf, answer: RuleAnswer | undefined): Problem {
  const { status, title, detail } = answer ?? {}
  const usual = usualProblem(decision, nameOf)
  return {
    ...usual,
    // A status of one's own says something else than the registered type.
    ...(status === undefined || status === usual.status ? {} : { type: 'about:blank', status }),
    ...(title === undefined ? {} : { title }),
    ...(detail === undefined ? {} : { detail }),
  }
}

function usualProblem(decision: Decision, nameOf: NameOf): Problem {
  const names = decision.limits.filter((limit) => limit.retryAfterMs > 0).map(nameOf)
  switch (decision.reason) {
    case 'unavailable':
      return {
        type: `${registry}#temporary-reduced-capacity`,
        title: 'Request cannot be satisfied due to temporary server capacity constraints',
        status: 503,
        ...(names.length > 0 ? { 'violated-policies': names } : {}),
      }
    case 'missing-key':
      return {
        type: 'about:blank',
        title: 'Bad Request',
        status: 400,
        detail: `The request lacks what the rule ${JSON.stringify(decision.rule)} needs to tell whose quota to use.`,
      }
    case 'blocked':
      return { type: 'about:blank', title: 'Too Many Requests', status: 429 }
    case 'forbidden':
      return { type: 'about:blank', title: 'Forbidden', status: 403 }
    default: {
      const denying = denyingLimit(decision)
      return {
        type: `${registry}#quota-exceeded`,
        title: 'Request cannot be satisfied as assigned quota has been exceeded',
        status: 429,
        ...(isHopeless(decision)
          ? { detail: 'The request costs more than the quota ever holds; repeating it will not help.' }
          : {}),
        'violated-policies': names,
        ...(denying ? { limit: { name: nameOf(denying), amount: denying.amount, windowMs: denying.windowMs } } : {}),
      }
    }
  }
}

/** A problem and its text. */
export interface ProblemText {
  readonly problem: Problem
  readonly json: string
}

interface Known extends ProblemText {
  readonly decision: Decision
  readonly violated: readonly LimitStatus[]
  /** What is used up, in words; undefined where the detail says something else. */
  readonly used: string | undefined
}

/** Few denials differ at a time; beyond this many the cache is cleared. */
const maxTexts = 64

/**
 * Remembers the texts of problems, so that refusing a flood does not mean writing JSON. `seconds` is what `Retry-After`
 * says.
 */
export function problemTexts(
  nameOf: NameOf,
  answerOf: (rule: string) => RuleAnswer | undefined,
): (decision: Decision, seconds: number) => ProblemText {
  let texts: Known[] = []
  const find = (decision: Decision): Known => {
    for (const known of texts) if (isAlike(known, decision)) return known
    const problem = problemOf(decision, nameOf, answerOf(decision.rule ?? ''))
    const violated = decision.limits.filter((limit) => limit.retryAfterMs > 0)
    const denying = denyingLimit(decision)
    const used = problem.detail === undefined && denying ? usedText(denying) : undefined
    const known = { problem, json: JSON.stringify(problem), decision, violated, used }
    // Texts of an older policy would never be found again.
    if (texts.length >= maxTexts || texts[0]?.decision.policyVersion !== decision.policyVersion) texts = []
    texts.push(known)
    return known
  }
  return (decision, seconds) => {
    const { problem, json, used } = find(decision)
    const isTimed = decision.reason === 'quota' || decision.reason === 'blocked'
    if (!isTimed || isHopeless(decision)) return { problem, json }
    const added = used === undefined ? {} : { detail: `${used}; ${again(decision)} in ${seconds} s` }
    const head = `${json.slice(0, -1)},"retryAfter":${seconds}`
    return {
      problem: { ...problem, ...added, retryAfter: seconds },
      json: used === undefined ? `${head}}` : `${head},"detail":"${added.detail}"}`,
    }
  }
}

function isAlike({ decision, violated }: Known, other: Decision): boolean {
  if (decision.policyVersion !== other.policyVersion || decision.reason !== other.reason) return false
  if (decision.rule !== other.rule || isHopeless(decision) !== isHopeless(other)) return false
  if (violated.length > 1 && denyingLimit(decision)?.name !== denyingLimit(other)?.name) return false
  let at = 0
  for (const { retryAfterMs, rule, name, amount } of other.limits) {
    if (!(retryAfterMs > 0)) continue
    if (violated[at]?.name !== name || violated[at]?.rule !== rule || violated[at]?.amount !== amount) return false
    at++
  }
  return at === violated.length
}

/** The limit that denies for longest, or the block. */
function denyingLimit({ limits }: Decision): LimitStatus | undefined {
  let denying: LimitStatus | undefined
  for (const limit of limits) {
    if (limit.block) return limit
    if (limit.retryAfterMs > (denying?.retryAfterMs ?? 0)) denying = limit
  }
  return denying
}

const periods = new Map([
  [1000, 'second'],
  [60_000, 'minute'],
  [3_600_000, 'hour'],
  [86_400_000, 'day'],
])

function usedText({ amount, windowMs, pace, block }: LimitStatus): string {
  if (block) return 'Blocked for a while'
  if (pace) return 'The plan for this time is used up'
  if (windowMs === 0) return `${amount} at a time used up`
  return `${amount} per ${periods.get(windowMs) ?? formatDuration(windowMs)} used up`
}

/** A permit may come back at any time, so nobody knows when. */
const again = (decision: Decision): string => (denyingLimit(decision)?.windowMs === 0 ? 'try again' : 'again')

const isHopeless = (decision: Decision): boolean => decision.retryAfterMs === Number.POSITIVE_INFINITY
