import type { Dispatcher } from 'undici'
import type { Undici } from '../connection/load-undici.ts'
import type { ResponseReceiver } from '../egress.ts'
import type { ResponseAbout } from './call-context.ts'
import { headerFields, namedFields } from './response-head.ts'

/** Both forms of a handler: undici calls the one with `onConnect`, which also learns when the body was sent. */
export interface ResponseHandler {
  onConnect(abort: (reason?: Error) => void): void
  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean
  onData(chunk: Buffer): boolean
  onComplete(trailers: Buffer[] | null): void
  onError(error: Error): void
  onUpgrade?(status: number, headers: Buffer[] | null, socket: unknown): void
  onBodySent?(chunk: unknown): void
  onRequestSent?(): void
  onResponseStarted?(): void
}

/** Converts a handler of any form to one with `onConnect`. */
export function toResponseHandler(handler: Dispatcher.DispatchHandler, undici: Undici): ResponseHandler {
  return typeof handler.onRequestStart === 'function'
    ? new ControlledHandler(handler, undici)
    : (handler as unknown as ResponseHandler)
}

/** The controller that a handler with `onRequestStart` receives. */
class Controller implements Dispatcher.DispatchController {
  readonly #abort: (reason?: Error) => void
  aborted = false
  paused = false
  reason: Error | null = null
  rawHeaders: Buffer[] | null = null
  rawTrailers: Buffer[] | null = null
  resumeReading: (() => void) | undefined

  constructor(abort: (reason?: Error) => void) {
    this.#abort = abort
  }

  pause(): void {
    this.paused = true
  }

  resume(): void {
    if (!this.paused) return
    this.paused = false
    this.resumeReading?.()
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.aborted = true
    this.reason = reason
    this.#abort(reason)
  }
}

class ControlledHandler implements ResponseHandler {
  readonly #handler: Dispatcher.DispatchHandler
  readonly #parse: Undici['util']['parseHeaders']
  #controller: Controller = new Controller(() => {})

  constructor(handler: Dispatcher.DispatchHandler, undici: Undici) {
    this.#handler = handler
    this.#parse = undici.util.parseHeaders
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.#controller = new Controller(abort)
    this.#handler.onRequestStart?.(this.#controller, {})
  }

  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean {
    this.#controller.rawHeaders = headers
    this.#controller.resumeReading = resume
    this.#handler.onResponseStart?.(this.#controller, status, this.#parse(headers), statusText)
    return !this.#controller.paused
  }

  onData(chunk: Buffer): boolean {
    this.#handler.onResponseData?.(this.#controller, chunk)
    return !this.#controller.paused
  }

  onComplete(trailers: Buffer[] | null): void {
    this.#controller.rawTrailers = trailers
    this.#handler.onResponseEnd?.(this.#controller, this.#parse(trailers ?? []))
  }

  onError(error: Error): void {
    this.#handler.onResponseError?.(this.#controller, error)
  }
}

const nothing: Readonly<Record<string, string>> = Object.freeze({})

/** Passes a response to its receiver as it arrives, without a stream in between; `about` is known with its head. */
export function toReceiver(
  receiver: ResponseReceiver,
  about: () => ResponseAbout,
): ResponseHandler & { abort(reason: Error): void } {
  let abort: ((reason?: Error) => void) | undefined
  return {
    abort: (reason) => abort?.(reason),
    onConnect(given) {
      abort = given
    },
    onHeaders(status, _, resume) {
      const { waitMs, attempts, fields } = about()
      return receiver.responded({ status, headers: fields, waitMs, attempts, resume })
    },
    onData: (chunk) => receiver.data(chunk),
    onComplete: (trailers) => receiver.ended(trailers?.length ? namedFields(headerFields(trailers)) : nothing),
    onError: (error) => receiver.failed(error),
  }
}
