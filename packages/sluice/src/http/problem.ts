import type { Decision } from '../limiter/decision.ts'
import type { NameOf } from './headers/rate-limit-headers.ts'

const registry = 'https://iana.org/assignments/http-problem-types'

/** The body of a denial by RFC 9457, with the problem types of the rate-limit headers draft. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail?: string
  /** The limits that denied, by the names they have in `RateLimit-Policy`. */
  readonly 'violated-policies'?: readonly string[]
}

/** The media type of a problem. */
export const problemType = 'application/problem+json'

/**
 * What to tell a client that was denied: 429 when a quota is used up, 503 when the store failed and the rule is closed, and 400 when
 * the request lacks what a rule's key is made of, as waiting would not help there.
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
      const isHopeless = decision.retryAfterMs === Number.POSITIVE_INFINITY
      return {
        type: `${registry}#quota-exceeded`,
        title: 'Request cannot be satisfied as assigned quota has been exceeded',
        status: 429,
        ...(isHopeless
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

const maxTexts = 1000

/** Remembers the texts of problems, so that refusing a flood does not mean writing JSON. */
export function problemTexts(nameOf: NameOf): (decision: Decision) => ProblemText {
  const texts = new Map<string, ProblemText>()
  let version: string | undefined
  return (decision) => {
    if (decision.policyVersion !== version || texts.size > maxTexts) {
      texts.clear()
      version = decision.policyVersion
    }
    let key = `${decision.reason} ${decision.retryAfterMs === Number.POSITIVE_INFINITY} ${decision.rule}`
    for (const limit of decision.limits) if (limit.retryAfterMs > 0) key += `\n${limit.rule}\t${limit.name}`
    const known = texts.get(key)
    if (known !== undefined) return known
    const problem = problemOf(decision, nameOf)
    const text = { problem, json: JSON.stringify(problem) }
    texts.set(key, text)
    return text
  }
}
