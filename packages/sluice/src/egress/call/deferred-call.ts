import type { Dispatcher } from 'undici'
import { isSluiceError } from '../../core/errors.ts'
import { onAbort } from '../../runtime/on-abort.ts'
import type { BookedCall } from './call-context.ts'

type Dispatch = Dispatcher['dispatch']

/**
 * A call that is booked before undici makes anything of its request: what undici keeps for each is several times as
 * large as a call that waits. Until then it is the handler of the call.
 */
export class DeferredCall<Response> {
  readonly #signal: AbortSignal | null | undefined
  readonly #make: (dispatch: Dispatch) => Promise<Response>
  readonly #resolve: (response: Response) => void
  readonly #reject: (error: unknown) => void
  #stopListening: (() => void) | undefined

  /** `make` makes the request, and sends it with what it is given. */
  constructor(
    signal: AbortSignal | null | undefined,
    make: (dispatch: Dispatch) => Promise<Response>,
    resolve: (response: Response) => void,
    reject: (error: unknown) => void,
  ) {
    this.#signal = signal
    this.#make = make
    this.#resolve = resolve
    this.#reject = reject
  }

  onConnect(abort: (reason?: Error) => void): void {
    const signal = this.#signal
    if (signal?.aborted) abort(signal.reason)
    else if (signal) this.#stopListening = onAbort(signal, () => abort(signal.reason))
  }

  onError(error: Error): void {
    this.#stopListening?.()
    this.#reject(error)
  }

  /** The call was granted: it needs its request now. */
  begin(call: BookedCall): void {
    this.#stopListening?.()
    const dispatch: Dispatch = (request, handler) => {
      call.adopt(request, handler)
      return true
    }
    this.#make(dispatch).then(this.#resolve, (error: Error) => {
      // `fetch` wraps every error of a dispatcher; a refusal is thrown unwrapped.
      const { cause } = error as { cause?: unknown }
      this.#reject(isSluiceError(cause) ? cause : error)
      call.abandon()
    })
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
