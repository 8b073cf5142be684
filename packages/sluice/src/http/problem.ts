import type { Problem } from '../admission/outcome.ts'
import type { LimitStatus } from '../core/engine/ask.ts'
import type { Decision } from '../limiter/decision/decision.ts'
import type { NameOf } from './headers/header-writer.ts'

const registry = 'https://iana.org/assignments/http-problem-types'

/**
 * The problem for a client that was denied: 429 when a quota is used up, 503 when the store failed and the rule is
 * closed, and 400 when the request lacks what a rule's key is made of, as waiting would not help there.
 */
export function problemOf(decision: Decision, nameOf: NameOf): Problem {
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
    default: {
      return {
        type: `${registry}#quota-exceeded`,
        title: 'Request cannot be satisfied as assigned quota has been exceeded',
        status: 429,
        ...(isHopeless(decision)
          ? { detail: 'The request costs more than the quota ever holds; repeating it will not help.' }
          : {}),
        'violated-policies': names,
      }
    }
  }
}

/** A problem and its text, made once for all requests that are denied alike. */
export interface ProblemText {
  readonly problem: Problem
  readonly json: string
}

interface Known extends ProblemText {
  readonly decision: Decision
  readonly violated: readonly LimitStatus[]
}

/** Few denials differ at a time; beyond this many the cache is cleared. */
const maxTexts = 64

/** Remembers the texts of problems, so that refusing a flood does not mean writing JSON. */
export function problemTexts(nameOf: NameOf): (decision: Decision) => ProblemText {
  let texts: Known[] = []
  return (decision) => {
    for (const known of texts) if (isAlike(known, decision)) return known
    const problem = problemOf(decision, nameOf)
    const violated = decision.limits.filter((limit) => limit.retryAfterMs > 0)
    const known = { problem, json: JSON.stringify(problem), decision, violated }
    // Texts of an older policy would never be found again.
    if (texts.length >= maxTexts || texts[0]?.decision.policyVersion !== decision.policyVersion) texts = []
    texts.push(known)
    return known
  }
}

function isAlike({ decision, violated }: Known, other: Decision): boolean {
  if (decision.policyVersion !== other.policyVersion || decision.reason !== other.reason) return false
  if (decision.rule !== other.rule || isHopeless(decision) !== isHopeless(other)) return false
  let at = 0
  for (const { retryAfterMs, rule, name } of other.limits) {
    if (!(retryAfterMs > 0)) continue
    if (violated[at]?.name !== name || violated[at]?.rule !== rule) return false
    at++
  }
  return at === violated.length
}

const isHopeless = (decision: Decision): boolean => decision.retryAfterMs === Number.POSITIVE_INFINITY
