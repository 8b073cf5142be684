import type { Deadline } from '../../runtime/deadlines.ts'
import type { Grant } from '../booking/grant.ts'
import type { Units } from '../booking/messages.ts'
import type { Connection } from '../connection/connection.ts'
import { UpstreamError } from '../egress-error.ts'
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

export interface AttemptOptions {
  /** Longest time without a byte of the request going out, and from its last byte to the head of the response. */
  readonly timeoutMs: number
  /** The body is written together with the head, as undici does with what is in memory. */
  readonly isInMemory: boolean
  /** Undefined where the application's own dispatcher has it. */
  readonly connection: Connection | undefined
}

/**
 * One dispatch on one grant. It reports to the grant what is known about when the request arrived at the vendor:
 *
 *     the kernel has its last byte                       written, it arrives within `arrival` of that
 *     final response begins, body sent                   answered
 *     the vendor closes or resets                        answered
 *     nothing written (DNS, connect, TLS, late grant)    cancelled
 *     timeout, or we end the connection                  nothing more: what was written may still be on its way
 */
export class Attempt implements ResponseHandler {
  readonly #runtime: UpstreamRuntime
  readonly #grant: Grant
  readonly #observer: AttemptObserver
  readonly #options: AttemptOptions
  #writtenMs: number | undefined
  #firstByteMs = 0
  /** When the last byte went out so far. */
  #sentMs = 0
  #bytesBefore = 0
  #timeout: Deadline | undefined
  #abort: ((reason?: Error) => void) | undefined
  #isBodySent: boolean
  #hasResponse = false
  #isOver = false
  /** The caller aborted; the request stays until its response begins. */
  #isDetached = false
  #isDiscarded = false
  #discardedBytes = 0

  constructor(runtime: UpstreamRuntime, grant: Grant, observer: AttemptObserver, options: AttemptOptions) {
    this.#runtime = runtime
    this.#grant = grant
    this.#observer = observer
    this.#options = options
    this.#isBodySent = options.isInMemory
  }

  /** When the head was written, by the monotonic clock. */
  get writtenMs(): number | undefined {
    return this.#writtenMs
  }

  /** From the head of the request to that of its response. */
  get firstByteMs(): number {
    return this.#firstByteMs
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
    if (this.#isDetached) throw new UpstreamError('aborted', name, false, undefined)
    const nowMs = clock.monotonic()
    if (nowMs > this.#grant.writeByMs) throw new LateGrant()
    this.#abort = abort
    this.#writtenMs = nowMs
    this.#sentMs = nowMs
    this.#bytesBefore = this.#options.connection?.socket.bytesWritten ?? 0
    this.#timeout = timeouts.add(nowMs + this.#options.timeoutMs, () => this.#timedOut())
  }

  onBodySent(): void {
    this.#sentMs = this.#runtime.clock.monotonic()
  }

  /** Everything was given to the socket, which may not have passed all of it to the kernel yet. */
  onRequestSent(): void {
    this.#isBodySent = true
    this.#sentMs = this.#runtime.clock.monotonic()
    if (this.#hasResponse) {
      this.#answer()
      return
    }
    const { connection, isInMemory } = this.#options
    const socket = connection?.socket
    const bytes = socket && isInMemory ? socket.bytesWritten - this.#bytesBefore : undefined
    if (socket === undefined || socket.writableLength === 0) this.#written(bytes)
    else socket.write('', (error) => error ?? this.#written(bytes))
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    // An interim response does not show that the request was counted.
    if (status < 200) return true
    const nowMs = this.#runtime.clock.monotonic()
    this.#hasResponse = true
    this.#firstByteMs = nowMs - this.#writtenMs!
    this.#timeout?.cancel()
    if (this.#isBodySent) this.#grant.answer(nowMs)
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
    if (!this.#isBodySent) this.#answer()
    this.#end(false)
    if (!this.#isDetached) this.#observer.ended(trailers)
  }

  onError(error: Error): void {
    if (this.#isOver) return
    if (this.#writtenMs === undefined) this.#grant.cancel()
    else if (this.#hasResponse || isPeersDoing(error)) this.#answer()
    this.#end(true)
    if (!this.#isDetached) this.#observer.failed(error, this.#writtenMs !== undefined)
  }

  #answer(): void {
    this.#grant.answer(this.#runtime.clock.monotonic())
  }

  #written(bytes: number | undefined): void {
    if (this.#isOver || this.#hasResponse) return
    const { clock } = this.#runtime
    this.#sentMs = clock.monotonic()
    this.#grant.written(this.#sentMs, this.#runtime.arrivalMs(bytes))
  }

  #end(isCut: boolean): void {
    this.#isOver = true
    this.#timeout?.cancel()
    const { connection } = this.#options
    if (connection) this.#runtime.connections.giveBack(connection)
    if (this.#writtenMs === undefined) return
    const isCounted = this.#hasResponse && !this.#isDiscarded
    this.#grant.finish(isCounted ? this.#observer.actualUnits(this.#grant.units, isCut) : undefined)
  }

  /** What is written piece by piece may take as long as pieces go out. */
  #timedOut(): void {
    if (this.#isOver || this.#hasResponse) return
    const { clock, timeouts, name } = this.#runtime
    const endsMs = this.#sentMs + this.#options.timeoutMs
    if (endsMs > clock.monotonic()) this.#timeout = timeouts.add(endsMs, () => this.#timedOut())
    else this.#abort?.(new UpstreamError('timeout', name, true, undefined))
  }
}

const peerCodes: ReadonlySet<unknown> = new Set(['UND_ERR_SOCKET', 'ECONNRESET', 'EPIPE'])

/** Whether the vendor's side ended the connection, so that it will not receive any more of the request. */
function isPeersDoing(error: Error): boolean {
  return peerCodes.has((error as { code?: unknown }).code)
}
