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
 * Requests a path while the component is shown, and again every `everyMs` after the last answer, but not in a hidden
 * tab. An undefined path requests nothing.
 */
export function useApi<T>(path: string | undefined, everyMs?: number): Asked<T> {
  const [state, setState] = useState<Omit<Asked<T>, 'reload'> & { readonly path: string | undefined }>(nothing)
  const [turn, setTurn] = useState(0)
  useEffect(() => {
    if (path === undefined) return
    const stop = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    const ask = async (): Promise<void> => {
      try {
        const data = await api<T>('GET', path, { signal: stop.signal })
        setState({ path, data, error: undefined, atMs: Date.now() })
      } catch (error) {
        if (stop.signal.aborted) return
        const failed = error instanceof ApiError ? error : new ApiError(0, String(error))
        setState((last) => (last.path === path ? { ...last, error: failed } : { ...nothing, path, error: failed }))
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
  }, [path, everyMs, turn])
  const reload = useCallback(() => setTurn((last) => last + 1), [])
  const { data, error, atMs } = state.path === path ? state : nothing
  return { data, error, atMs, reload }
}

const nothing = { path: undefined, data: undefined, error: undefined, atMs: undefined }
