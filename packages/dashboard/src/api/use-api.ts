import { useCallback, useEffect, useState } from 'preact/hooks'
import { ApiError, api } from './api.ts'

/** The result of a request. Data stays while it is requested again, so that nothing flickers. */
export interface Asked<T> {
  readonly data: T | undefined
  readonly error: ApiError | undefined
  /** When the data arrived, in milliseconds since 1970. */
  readonly atMs: number | undefined
  readonly reload: () => void
}

/**
 * Reads a path while the component is shown, and again every `everyMs` after the last answer, but not in a hidden tab.
 * With a body it is posted. An undefined path requests nothing.
 */
export function useApi<T>(path: string | undefined, everyMs?: number, body?: object): Asked<T> {
  const what = path === undefined || body === undefined ? path : `${path} ${JSON.stringify(body)}`
  return useAnswer<T>(what, everyMs, (signal) =>
    body === undefined ? api('GET', path!, { signal }) : api('POST', path!, { body, signal, isRead: true }),
  )
}

/** The same for any request; `what` tells one request from another. */
export function useAnswer<T>(
  what: string | undefined,
  everyMs: number | undefined,
  request: (signal: AbortSignal) => Promise<T>,
): Asked<T> {
  const [state, setState] = useState<Omit<Asked<T>, 'reload'> & { readonly what: string | undefined }>(nothing)
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (what === undefined) return
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async (): Promise<void> => {
      try {
        const data = await request(stop.signal)
        setState({ what, data, error: undefined, atMs: Date.now() })
      } catch (error) {
        if (stop.signal.aborted) return
        const failed = error instanceof ApiError ? error : new ApiError(0, String(error))
        setState((last) => (last.what === what ? { ...last, error: failed } : { ...nothing, what, error: failed }))
      }
      if (everyMs !== undefined && !stop.signal.aborted) timer = setTimeout(again, everyMs)
    }
    const again = (): void => {
      if (document.hidden) document.addEventListener('visibilitychange', again, { once: true, signal: stop.signal })
      else void ask()
    }
    void ask()
    return () => {
      stop.abort()
      clearTimeout(timer)
    }
  }, [what, everyMs, turn])
  const reload = useCallback(() => setTurn((last) => last + 1), [])
  const { data, error, atMs } = state.what === what ? state : nothing
  return { data, error, atMs, reload }
}

const nothing = { what: undefined, data: undefined, error: undefined, atMs: undefined }
