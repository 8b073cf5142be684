import type { Clock, Timer } from '../../core/clock.ts'
import type { Units } from '../booking/messages.ts'
import { UpstreamError } from '../egress-error.ts'
import type { Grant } from '../places/grant.ts'
import type { ResponseHandler } from './response-handler.ts'

const mostDiscarded = 64 * 1024

/** Thrown just before the head of a request would be written on a grant that is too old. Nothing was written. */
export class LateGrant extends Error {}

/** What an attempt reports to its call. All of them come in this order, and nothing after `ended` or `failed`. */
export interface AttemptObserver {
  /** The head of the final response has arrived. Returns whether to continue reading. */
  responded(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean
  data(chunk: Buffer): boolean
  ended(trailers: Buffer[] | null): void
  failed(error: Error, written: boolean): void
  /** What the call cost, as far as its response reported it before it ended or was cut. */
  actualUnits(reserved: Units, isCut: boolean): Units | undefined
}

interface AttemptOptions {
  readonly grant: Grant
  readonly clock: Clock
  readonly upstream: string
  readonly timeoutMs: number
  /** Whether the body is written together with the head, as undici does with what is in memory. */
  readonly isBodyInMemory: boolean
  readonly observer: AttemptObserver
}

/**
 * One dispatch on one grant. It reports to the grant when the request has surely arrived at the vendor:
 *
 *     written -> final response begins, body sent        answered then
 *             -> peer closes or resets                   answered then
 *             -> timeout, or we end the connection       answered at written + timeout
 *     nothing written (DNS, connect, TLS, late grant)    cancelled
 */
export class Attempt implements ResponseHandler {
  readonly #options: AttemptOptions
  #writtenMs: number | undefined
  #timeoutMs = 0
  #timer: Timer | undefined
  #abort: ((reason?: Error) => void) | undefined
  #isBodySent: boolean
  #hasResponse = false
  #isOver = false
  /** The caller aborted; the request stays until its response begins. */
  #isDetached = false
  #isDiscarded = false
  #discardedBytes = 0

  constructor(options: AttemptOptions) {
    this.#options = options
    this.#isBodySent = options.isBodyInMemory
  }

  get isWritten(): boolean {
    return this.#writtenMs !== undefined
  }

  /** When the head was written, by the monotonic clock. */
  get writtenMs(): number | undefined {
    return this.#writtenMs
  }

  /**
   * The caller aborts. Before the head is written, that returns the grant. After it, the request stays on its
   * connection until its response begins or it times out, as only then is it known to have arrived.
   */
  giveUp(reason: Error): void {
    if (this.#isOver) return
    this.#isDetached = true
    // undici may still be connecting; `onConnect` then writes nothing.
    if (this.#writtenMs === undefined) this.#options.grant.cancel()
    else if (this.#hasResponse) this.#abort?.(reason)
  }

  /**
   * The response is not used: it is read to its end so that the connection can be used again, unless that takes too
   * long.
   */
  discard(): void {
    this.#isDetached = true
    this.#isDiscarded = true
  }

  onConnect(abort: (reason?: Error) => void): void {
    const { clock, grant, timeoutMs, upstream } = this.#options
    if (this.#isDetached) throw new UpstreamError('aborted', upstream, false, undefined)
    const nowMs = clock.monotonic()
    if (nowMs > grant.notAfterMs || nowMs >= grant.arriveByMs) throw new LateGrant()
    this.#abort = abort
    this.#writtenMs = nowMs
    this.#timeoutMs = Math.min(timeoutMs, grant.arriveByMs - nowMs)
    this.#timer = clock.setTimeout(() => this.#timedOut(abort), this.#timeoutMs)
  }

  onBodySent(): void {}

  onRequestSent(): void {
    this.#isBodySent = true
    if (this.#hasResponse) this.#options.grant.answer()
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    // An interim response does not show that the request was counted.
    if (status < 200) return true
    this.#hasResponse = true
    this.#options.clock.clearTimeout(this.#timer)
    if (this.#isBodySent) this.#options.grant.answer()
    if (this.#isDetached) {
      this.#abort?.(new UpstreamError('aborted', this.#options.upstream, true, undefined))
      return true
    }
    return this.#options.observer.responded(status, headers, resume, statusText)
  }

  onData(chunk: Buffer): boolean {
    if (!this.#isDetached) return this.#options.observer.data(chunk)
    this.#discardedBytes += chunk.length
    if (this.#isDiscarded && this.#discardedBytes > mostDiscarded)
      this.#abort?.(new UpstreamError('aborted', this.#options.upstream, true, undefined))
    return true
  }

  onComplete(trailers: Buffer[] | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#options.grant.answer()
    this.#finish(false)
    if (!this.#isDetached) this.#options.observer.ended(trailers)
  }

  onError(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    const { clock, grant, observer } = this.#options
    clock.clearTimeout(this.#timer)
    if (this.#writtenMs === undefined) grant.cancel()
    else if (this.#hasResponse || isPeersDoing(error)) this.#finish(true)
    else {
      // We ended the connection, so what was written may still be on its way.
      const leftMs = Math.max(0, this.#writtenMs + this.#timeoutMs - clock.monotonic())
      const timer = clock.setTimeout(() => grant.finish(), leftMs)
      timer.unref?.()
    }
    if (!this.#isDetached) observer.failed(error, this.#writtenMs !== undefined)
  }

  #finish(isCut: boolean): void {
    const { grant, observer } = this.#options
    grant.finish(this.#isDiscarded ? undefined : observer.actualUnits(grant.units, isCut))
  }

  #timedOut(abort: (reason?: Error) => void): void {
    if (this.#isOver || this.#hasResponse) return
    abort(new UpstreamError('timeout', this.#options.upstream, true, undefined))
  }
}

const peerCodes: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/** Whether the vendor's side ended the connection, so that it will not receive any more of the request. */
function isPeersDoing(error: Error): boolean {
  return peerCodes.has((error as { code?: unknown }).code)
}
