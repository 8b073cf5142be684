import type { EventTarget } from './event-target.ts'

const timeoutMs = 30_000

/** Posts events to another server, in the form in which they came. */
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
      await response.body?.cancel()
      if (!response.ok) throw new Error(`${origin} answered ${response.status}`)
    },
    async close() {},
  }
}
