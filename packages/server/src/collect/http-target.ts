import { postBatch, resultsById, systemClock } from 'sluice/internal'
import type { EventTarget } from './event-target.ts'

const timeoutMs = 30_000

/**
 * Posts events to another server, in the form in which they came, and follows its answer as a shipper does: any 2xx
 * accepts all, unless `results` states otherwise for some.
 */
export function httpTarget(url: string): EventTarget {
  const { origin, pathname } = new URL(url)
  const options = { headers: () => ({}), timeoutMs, clock: systemClock() }
  return {
    // Without user, password and query: the description is logged.
    description: `${origin}${pathname}`,
    async accept(events) {
      const body = Buffer.from(JSON.stringify({ events }))
      const answer = await postBatch(url, body, options, new AbortController().signal)
      const isRefusal = answer.kind === 'refused' || answer.kind === 'too-large'
      if (answer.kind !== 'accepted') {
        // With a status the shipper looks for the event at fault; without one it sends all of them again.
        const status = { status: answer.kind === 'too-large' ? 413 : 400 }
        throw Object.assign(new Error(`${origin}: ${answer.reason}`), isRefusal ? status : {})
      }
      if (answer.results === undefined) return { rejected: new Map() }
      const results = resultsById(answer.results)
      const rejected = new Map<string, string>()
      for (const { id } of events) {
        const { status = 'retry', reason } = results.get(id) ?? {}
        // Nothing of the batch is acknowledged then; the server recognises what it already has by its id.
        if (status === 'retry') throw new Error(`${origin} wants ${id} again`)
        if (status === 'rejected') rejected.set(id, reason ?? `rejected by ${origin}`)
      }
      return { rejected }
    },
    waitingMs: () => 0,
    async close() {},
  }
}
