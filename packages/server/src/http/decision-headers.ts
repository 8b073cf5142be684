import type { Decision, LimitStatus } from 'sluice'
import { problemType } from './problem.ts'

const registry = 'https://iana.org/assignments/http-problem-types'
/** For what can never pass: as long as most clients can wait. */
const neverSeconds = 2_147_483

/** The status that a decision mirrored as a response has. */
export function statusOf({ allowed, reason }: Decision): 200 | 400 | 429 | 503 {
  if (allowed) return 200
  return reason === 'unavailable' ? 503 : reason === 'missing-key' ? 400 : 429
}

/** The headers of a mirrored decision: draft-ietf-httpapi-ratelimit-headers-11, and Retry-After on a denial. */
export function decisionHeaders(decision: Decision): Record<string, string> {
  const headers: Record<string, string> = {}
  const { limits } = decision
  if (limits.length > 0) {
    headers['ratelimit-policy'] = limits.map(policyItem).join(', ')
    headers.ratelimit = limits.map(stateItem).join(', ')
  }
  const status = statusOf(decision)
  if (status === 429 || status === 503) headers['retry-after'] = String(waitSeconds(decision.retryAfterMs))
  if (status !== 200) headers['content-type'] = problemType
  return headers
}

/** What a mirrored denial says, with the problem types of the draft. */
export function denialProblem(decision: Decision): Record<string, unknown> {
  const status = statusOf(decision)
  if (status === 400)
    return {
      type: 'about:blank',
      title: 'Bad Request',
      status,
      detail: `The request lacks what the rule ${decision.rule} needs.`,
    }
  const type = `${registry}#${status === 503 ? 'temporary-reduced-capacity' : 'quota-exceeded'}`
  const title = status === 503 ? 'The store cannot be asked, and the rule is closed' : 'The quota is used up'
  const violated = decision.limits.filter(({ retryAfterMs }) => retryAfterMs > 0).map(nameOf)
  return { type, title, status, 'violated-policies': violated }
}

// Names of rules and limits are letters, digits and `_.:-`, so they need no escaping in a quoted string.
const nameOf = ({ rule, name }: LimitStatus): string => `${rule}/${name}`

function policyItem(limit: LimitStatus): string {
  const window = limit.windowMs > 0 ? `;w=${Math.ceil(limit.windowMs / 1000)}` : ';qu="concurrent-requests"'
  return `"${nameOf(limit)}";q=${limit.amount}${window}`
}

function stateItem(limit: LimitStatus): string {
  const ms = limit.retryAfterMs > 0 ? limit.retryAfterMs : limit.resetMs
  return `"${nameOf(limit)}";r=${limit.remaining}${ms === Number.POSITIVE_INFINITY ? '' : `;t=${Math.ceil(ms / 1000)}`}`
}

function waitSeconds(ms: number): number {
  return ms === Number.POSITIVE_INFINITY ? neverSeconds : Math.max(1, Math.ceil(ms / 1000))
}
