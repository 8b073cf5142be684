import type { ResponseReceiver } from '../egress.ts'
import type { ResponseAbout } from './call-context.ts'
import type { ResponseHandler } from './response-handler.ts'
import { headerFields, namedFields } from './response-head.ts'

const nothing: Readonly<Record<string, string>> = Object.freeze({})
const noAbout: ResponseAbout = { waitMs: 0, attempts: 0, fields: [] }

/** Passes a response to its receiver as it arrives, without a stream in between. */
export class ReceivedResponse implements ResponseHandler {
  readonly #receiver: ResponseReceiver
  #abort: ((reason?: Error) => void) | undefined
  #about = noAbout

  constructor(receiver: ResponseReceiver) {
    this.#receiver = receiver
  }

  /** The caller aborted. */
  abort(reason: Error): void {
    this.#abort?.(reason)
  }

  /** What is known besides the response itself; it comes just before its head. */
  describe(about: ResponseAbout): void {
    this.#about = about
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.#abort = abort
  }

  onHeaders(status: number, _: Buffer[], resume: () => void): boolean {
    const { waitMs, attempts, fields } = this.#about
    return this.#receiver.responded({ status, headers: fields, waitMs, attempts, resume })
  }

  onData(chunk: Buffer): boolean {
    return this.#receiver.data(chunk)
  }

  onComplete(trailers: Buffer[] | null): void {
    const hasTrailers = trailers !== null && trailers.length > 0
    this.#receiver.ended(hasTrailers ? namedFields(headerFields(trailers)) : nothing)
  }

  onError(error: Error): void {
    this.#receiver.failed(error)
  }
}
