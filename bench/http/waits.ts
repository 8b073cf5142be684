import type { Situation } from './spec.ts'

/** Awaits as a limiter in this situation does, without limiting: a resolved promise in memory, a turn of the event loop on Redis. */
export function waitLike(situation: Situation): () => Promise<unknown> {
  if (situation !== 'allowed on Redis') return () => Promise.resolve()
  return () => new Promise((resolve) => setImmediate(resolve))
}
