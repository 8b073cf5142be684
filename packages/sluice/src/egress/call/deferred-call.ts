import type { Dispatcher } from 'undici'
import { isSluiceError } from '../../core/errors.ts'
import { onAbort } from '../../runtime/on-abort.ts'
import type { BookedCall } from './call-context.ts'
import type { ResponseHandler } from './response-handler.ts'

type Dispatch = Dispatcher['dispatch']

/**
 * A call that is booked before undici makes anything of its request: what undici keeps for each is several times as
 * large as a call that waits. Until then this is the handler of the call. `make` makes the request, and sends it with
 * what it is given.
 */
export function deferredCall<Response>(
  signal: AbortSignal | null | undefined,
  make: (dispatch: Dispatch) => Promise<Response>,
  resolve: (response: Response) => void,
  reject: (error: unknown) => void,
): Pick<ResponseHandler, 'onConnect' | 'onError'> & { begin(call: BookedCall): void } {
  let stopListening: (() => void) | undefined
  return {
    onConnect(abort) {
      if (signal?.aborted) abort(signal.reason)
      else if (signal) stopListening = onAbort(signal, () => abort(signal.reason))
    },
    onError(error) {
      stopListening?.()
      reject(error)
    },
    /** The call was granted: it needs its request now. */
    begin(call) {
      stopListening?.()
      const dispatch: Dispatch = (request, handler) => {
        call.adopt(request, handler)
        return true
      }
      make(dispatch).then(resolve, (error: Error) => {
        // `fetch` wraps every error of a dispatcher; a refusal is thrown unwrapped.
        const { cause } = error as { cause?: unknown }
        reject(isSluiceError(cause) ? cause : error)
        call.abandon()
      })
    },
  }
}

/** Sends the first request one way, and those that follow, such as redirects, another. */
export function onceThen(first: Dispatch, following: Dispatch): Dispatcher {
  let dispatch = first
  return {
    dispatch(request, handler) {
      const send = dispatch
      dispatch = following
      return send(request, handler)
    },
  } as Dispatcher
}
