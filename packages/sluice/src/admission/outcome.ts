import type { Usage } from './usage/usage.ts'
import type { UsageReader } from './usage/usage-reader.ts'

/** One header field: its name and its value. */
export type Header = readonly [name: string, value: string]

/** The body of a refusal by RFC 9457. */
export interface Problem {
  readonly type: string
  readonly title: string
  readonly status: number
  readonly detail?: string
  /** Which error it was, where one is the reason. */
  readonly code?: string
  /** The limits that denied, by the names they have in `RateLimit-Policy`. */
  readonly 'violated-policies'?: readonly string[]
  /** The limit that denies for longest. `windowMs` is 0 for what is in flight. */
  readonly limit?: { readonly name: string; readonly amount: number; readonly windowMs: number }
  /** Seconds until the request would pass, as in `Retry-After`. */
  readonly retryAfter?: number
}

/** The media type of a problem. */
export const problemType = 'application/problem+json'

/**
 * The answer to a request that was denied. `Decided` is what the guard adds to it; a limiter's guard, its
 * decision.
 */
export interface Denial<Decided = undefined> {
  readonly status: number
  /** Everything to send, such as the rate-limit headers, `Retry-After` and `Content-Type`. */
  readonly headers: readonly Header[]
  readonly body: string
  /** What the body says. */
  readonly problem: Problem
  readonly decision: Decided
}

/** How a response ended. */
export interface ResponseEnd {
  /** 499 when the client went away before there was a status to send. */
  readonly status: number
  /** Bytes of the body that were written. */
  readonly bytes: number
  /** False when the client went away first. */
  readonly completed: boolean
  /** The tokens that the response reports, where the guard wants to know them. */
  readonly usage?: Usage | undefined
}

/** To be called when the response has ended. With `readUsage` its body is to be read by what that makes. */
export interface Finish {
  (end: ResponseEnd): void
  readonly readUsage?: (() => UsageReader) | undefined
}

/** The status of a request whose client disconnected before there was one to send; nginx logs the same. */
export const clientClosedRequest = 499

/** What was decided about a request, and what is to be done about it. */
export interface GuardOutcome<Decided = undefined> {
  /** What handlers get to see; undefined when the request was let through without a decision. */
  readonly decision: Decided | undefined
  /** Headers for the response; a denial has them in its own. */
  readonly headers: readonly Header[]
  readonly denial: Denial<Decided> | undefined
  /** To be called when the response has ended, if it is there. Only the first call counts. */
  readonly finish: Finish | undefined
}

/** The outcome of a guard that has nothing to say about a request. */
export const passed: GuardOutcome<never> = Object.freeze({
  decision: undefined,
  headers: Object.freeze([]),
  denial: undefined,
  finish: undefined,
})

/** The outcome of a refusal. `headers` are sent beside the content type. */
export function refusal<Decided>(
  problem: Problem,
  headers: readonly Header[],
  decision: Decided,
): GuardOutcome<Decided> {
  const all: readonly Header[] = [...headers, ['Content-Type', problemType]]
  const denial = { status: problem.status, headers: all, body: JSON.stringify(problem), problem, decision }
  return { decision, headers: all, denial, finish: undefined }
}
