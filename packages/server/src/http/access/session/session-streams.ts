import { HttpProblem } from '../../problem.ts'
import type { Session, Sessions } from './sessions.ts'

/** Most streams that one session keeps open: a tab has one. */
export const maxStreams = 12

/** The streams that sessions keep open. They end with their session. */
export class SessionStreams {
  readonly #open = new Map<string, Set<() => void>>()
  readonly #nowMs: () => number

  constructor(sessions: Sessions, nowMs: () => number) {
    this.#nowMs = nowMs
    sessions.onEnded(({ id }) => {
      for (const close of [...(this.#open.get(id) ?? [])]) close()
    })
  }

  /** Counts a stream until the returned function is called; throws when the session has too many. */
  hold({ id, endsAtMs }: Session, close: () => void): () => void {
    const streams = this.#open.get(id) ?? new Set()
    if (streams.size >= maxStreams)
      throw new HttpProblem(429, `This session has ${maxStreams} streams open already: close some tabs.`)
    // The same function may be given twice.
    const closeOne = (): void => close()
    streams.add(closeOne)
    this.#open.set(id, streams)
    const timer = setTimeout(closeOne, endsAtMs - this.#nowMs())
    timer.unref()
    return () => {
      clearTimeout(timer)
      streams.delete(closeOne)
      if (streams.size === 0) this.#open.delete(id)
    }
  }
}
