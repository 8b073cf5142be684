import type { Deadline } from '../../runtime/deadlines.ts'
import type { Units } from '../booking/messages.ts'
import { UpstreamError } from '../egress-error.ts'
import type { Grant } from '../places/grant.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'
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

/**
 * One dispatch on one grant. It reports to the grant when the request has surely arrived at the vendor:
 *
 *     written -> final response begins, body sent        answered then
 *             -> peer closes or resets                   answered then
 *             -> timeout, or we end the connection       answered at written + timeout
 *     nothing written (DNS, connect, TLS, late grant)    cancelled
 */
export class Attempt implements ResponseHandler {
  readonly #runtime: UpstreamRuntime
  readonly #grant: Grant
  readonly #observer: AttemptObserver
  #writtenMs: number | undefined
  #timeoutMs: number
  #timeout: Deadline | undefined
  #abort: ((reason?: Error) => void) | undefined
  #isBodySent: boolean
  #hasResponse = false
  #isOver = false
  /** The caller aborted; the request stays until its response begins. */
  #isDetached = false
  #isDiscarded = false
  #discardedBytes = 0

  /** `isBodyInMemory`: the body is written together with the head, as undici does with what is in memory. */
  constructor(
    runtime: UpstreamRuntime,
    grant: Grant,
    observer: AttemptObserver,
    timeoutMs: number,
    isBodyInMemory: boolean,
  ) {
    this.#runtime = runtime
    this.#grant = grant
    this.#observer = observer
    this.#timeoutMs = timeoutMs
    this.#isBodySent = isBodyInMemory
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
    if (this.#writtenMs === undefined) this.#grant.cancel()
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
    const { clock, timeouts, name } = this.#runtime
    const { notAfterMs, arriveByMs } = this.#grant
    if (this.#isDetached) throw new UpstreamError('aborted', name, false, undefined)
    const nowMs = clock.monotonic()
    if (nowMs > notAfterMs || nowMs >= arriveByMs) throw new LateGrant()
    this.#abort = abort
    this.#writtenMs = nowMs
    this.#timeoutMs = Math.min(this.#timeoutMs, arriveByMs - nowMs)
    this.#timeout = timeouts.add(nowMs + this.#timeoutMs, () => this.#timedOut())
  }

  onBodySent(): void {}

  onRequestSent(): void {
    this.#isBodySent = true
    if (this.#hasResponse) this.#grant.answer()
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    // An interim response does not show that the request was counted.
    if (status < 200) return true
    this.#hasResponse = true
    this.#timeout?.cancel()
    if (this.#isBodySent) this.#grant.answer()
    if (this.#isDetached) {
      this.#abort?.(new UpstreamError('aborted', this.#runtime.name, true, undefined))
      return true
    }
    return this.#observer.responded(status, headers, resume, statusText)
  }

  onData(chunk: Buffer): boolean {
    if (!this.#isDetached) return this.#observer.data(chunk)
    this.#discardedBytes += chunk.length
    if (this.#isDiscarded && this.#discardedBytes > mostDiscarded)
      this.#abort?.(new UpstreamError('aborted', this.#runtime.name, true, undefined))
    return true
  }

  onComplete(trailers: Buffer[] | null): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#grant.answer()
    this.#finish(false)
    if (!this.#isDetached) this.#observer.ended(trailers)
  }

  onError(error: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    const { clock } = this.#runtime
    const grant = this.#grant
    this.#timeout?.cancel()
    if (this.#writtenMs === undefined) grant.cancel()
    else if (this.#hasResponse || isPeersDoing(error)) this.#finish(true)
    else {
      // We ended the connection, so what was written may still be on its way.
      const leftMs = Math.max(0, this.#writtenMs + this.#timeoutMs - clock.monotonic())
      const timer = clock.setTimeout(() => grant.finish(), leftMs)
      timer.unref?.()
    }
    if (!this.#isDetached) this.#observer.failed(error, this.#writtenMs !== undefined)
  }

  #finish(isCut: boolean): void {
    const units = this.#isDiscarded ? undefined : this.#observer.actualUnits(this.#grant.units, isCut)
    this.#grant.finish(units)
  }

  #timedOut(): void {
    if (this.#isOver || this.#hasResponse) return
    this.#abort?.(new UpstreamError('timeout', this.#runtime.name, true, undefined))
  }
}

const peerCodes: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/** Whether the vendor's side ended the connection, so that it will not receive any more of the request. */
function isPeersDoing(error: Error): boolean {
  return peerCodes.has((error as { code?: unknown }).code)
}
