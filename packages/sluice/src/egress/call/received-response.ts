import type { ResponseReceiver } from '../egress.ts'
import type { ResponseAbout } from './call-context.ts'
import type { ResponseHandler } from './response-handler.ts'
import { headerFields, namedFields } from './response-head.ts'

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
