import type { EventResult } from 'sluice/capacity'
import { readBounded } from 'sluice/internal'
import type { EventTarget } from './event-target.ts'

const timeoutMs = 30_000
/** The most that is read of an answer: a result for each of the largest batch. */
const maxAnswerBytes = 16 << 20

/** What the server behind will never accept; the shipper finds the event at fault. */
const refusals = [400, 413, 422]
/** Answers after which an event is not sent again. */
const final: ReadonlySet<unknown> = new Set(['ok', 'duplicate', 'rejected'])

/**
 * Posts events to another server, in the form in which they came, and follows its answer: any 2xx accepts all, unless
 * `results` states otherwise for some.
 */
export function httpTarget(url: string): EventTarget {
  const { origin, pathname } = new URL(url)
  return {
    // Without user, password and query: the description is logged.
    description: `${origin}${pathname}`,
    async accept(events) {
      const response = await fetch(url, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ events }),
        signal: AbortSignal.timeout(timeoutMs),
        redirect: 'error',
      })
      const text = await readText(response)
      if (!response.ok) {
        const message = `${origin} answered ${response.status}`
        throw Object.assign(new Error(message), refusals.includes(response.status) ? { status: response.status } : {})
      }
      // A page to sign in, or of a proxy without a server behind it, has the status of a success.
      const isPage = /^text\/html\b/i.test(response.headers.get('content-type') ?? '')
      if (isPage) throw new Error(`${origin} answered with a web page`)
      const results = resultsIn(text)
      if (results === undefined) return { rejected: new Map() }
      const answered = new Map<string, EventResult['status']>()
      for (const { id, status } of results) {
        const isTwo = answered.has(id) && answered.get(id) !== status
        // An answer in two ways, or in one that does not exist, is none.
        answered.set(id, isTwo || !final.has(status) ? 'retry' : status)
      }
      for (const { id } of events) {
        // Nothing of the batch is acknowledged then; the server recognises what it already has by its id.
        if ((answered.get(id) ?? 'retry') === 'retry') throw new Error(`${origin} wants ${id} again`)
      }
      const refused = results.filter(({ status }) => status === 'rejected')
      return { rejected: new Map(refused.map(({ id, reason }) => [id, reason ?? `rejected by ${origin}`])) }
    },
    waitingMs: () => 0,
    async close() {},
  }
}

/** The answers per event; undefined when there are none, which accepts all. What is no list accepts nothing. */
function resultsIn(text: string): readonly EventResult[] | undefined {
  try {
    const { results } = JSON.parse(text) as { results?: unknown }
    if (results === undefined || results === null) return undefined
    return Array.isArray(results) ? results.filter((each) => typeof each === 'object' && each !== null) : []
  } catch {
    return undefined
  }
}

async function readText(response: Response): Promise<string> {
  const bytes = await readBounded(response.body, maxAnswerBytes)
  if (bytes === undefined) throw new Error('the answer is too long')
  return Buffer.from(bytes).toString()
}
