import { type Denial, type Header, problemType } from '../../admission/outcome.ts'
import { checkOptionNames, optionNames } from '../../core/check-options.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'
import type { NameOf } from '../headers/header.ts'
import { rateLimitHeaders } from '../headers/rate-limit-headers.ts'
import { retryAfterSeconds } from '../headers/retry-after.ts'
import { problemTexts } from '../problem.ts'
import type { LimiterGuardOptions } from './guard-options.ts'
import { waitMs } from './guard-options.ts'

/** What is sent to a client about a decision: headers, and the whole answer if it was denied. */
export interface DecisionAnswer {
  readonly headers: readonly Header[]
  readonly denial: Denial<Decision> | undefined
}

/** How decisions are sent to clients. */
export type AnswerOptions = Pick<LimiterGuardOptions<never>, 'headers' | 'policyName' | 'retryAfterJitter'>

export const answerOptionNames: readonly string[] = optionNames<AnswerOptions>({
  headers: true,
  policyName: true,
  retryAfterJitter: true,
})

/**
 * Makes the function that turns the decisions of a limiter into answers. Everything that answers for a limiter uses it,
 * so that the same decision looks the same everywhere.
 *
 * @example
 * const answerTo = decisionAnswers(limiter)
 * const { headers, denial } = answerTo(await limiter.check(view))
 */
export function decisionAnswers(
  limiter: Limiter,
  options: AnswerOptions = {},
): (decision: Decision, partition?: string) => DecisionAnswer {
  checkOptionNames('decisionAnswers', options, answerOptionNames)
  const { headers: version = 'draft-11' } = options
  const maxJitterMs = waitMs('retryAfterJitter', options.retryAfterJitter)
  const nameOf: NameOf =
    options.policyName ?? ((limit) => (limiter.policy.rules.length > 1 ? `${limit.rule}/${limit.name}` : limit.name))
  const writeHeaders = rateLimitHeaders(version, nameOf, limiter.clock)
  const problemText = problemTexts(nameOf, (rule) => limiter.policy.answers.get(rule))

  return function answerTo(decision, partition = '') {
    const limitHeaders = writeHeaders(decision, partition)
    if (decision.allowed) return { headers: limitHeaders, denial: undefined }
    const seconds = retryAfterSeconds(decision, maxJitterMs > 0 ? Math.random() * maxJitterMs : 0)
    const { problem, json } = problemText(decision, seconds)
    const { status } = problem
    const type: Header = ['Content-Type', problemType]
    const isFinal = decision.reason === 'missing-key' || decision.reason === 'forbidden'
    const retryAfter: Header[] = isFinal ? [] : [['Retry-After', `${seconds}`]]
    const headers: Header[] = [...limitHeaders, ...retryAfter, type]
    return { headers, denial: { status, headers, body: json, problem, decision } }
  }
}
