/** Why the fallback answers. */
export interface Failure {
  /** `open`: the breaker did not admit the call. `failed`: the call was made, or at least begun, and failed. */
  readonly reason: 'open' | 'failed'
  /** What the call rejected with, or a `BreakerOpenError`. */
  readonly error: unknown
}

export interface RunOptions<Fallback = never> {
  /** Answers instead of a call that failed or was not made. If it throws, its error is that of the call. */
  readonly fallback?: (failure: Failure) => Fallback | PromiseLike<Fallback>
  /**
   * Passed to the function. A call that its caller aborts counts neither as a success nor as a failure, and neither
   * does one whose signal was aborted before it began.
   */
  readonly signal?: AbortSignal | undefined
}

export interface WrapOptions<Args extends unknown[], Fallback = never> {
  /** Answers instead of a call that failed or was not made; it also gets the arguments of the call. */
  readonly fallback?: (failure: Failure, ...args: Args) => Fallback | PromiseLike<Fallback>
}

/** The answer of a call, and whether the fallback gave it. */
export type Outcome<Value, Fallback> =
  | { readonly degraded: false; readonly value: Value }
  | ({ readonly degraded: true; readonly value: Fallback } & Failure)
