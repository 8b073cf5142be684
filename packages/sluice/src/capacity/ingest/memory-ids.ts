import type { Clock } from '../../core/clock.ts'
import { splitId } from './read-batch.ts'
import { claimMs, Runs, type Seen, type SeenIds } from './seen-ids.ts'

/** What is known of one producer. */
interface Producer {
  readonly taken: Runs
  /** Events that are being stored: until when the claim holds. */
  readonly claims: Map<number, number>
}

/** Remembers ids in this process, of the most recent producers. */
export function memoryIds(clock: Clock, maxProducers: number): SeenIds {
  const producers = new Map<string, Producer>()

  function find(name: string): Producer {
    const producer = producers.get(name) ?? { taken: new Runs(), claims: new Map() }
    producers.delete(name)
    producers.set(name, producer)
    if (producers.size > maxProducers) producers.delete(producers.keys().next().value!)
    return producer
  }

  function claimOne(id: string): Seen {
    const { producer: name, seq } = splitId(id)
    const { taken, claims } = find(name)
    if (taken.has(seq)) return 'done'
    const nowMs = clock.monotonic()
    if ((claims.get(seq) ?? 0) > nowMs) return 'pending'
    claims.set(seq, nowMs + claimMs)
    return 'new'
  }

  return {
    claim: async (ids) => ids.map(claimOne),
    async finish(ids) {
      for (const id of ids) {
        const { producer, seq } = splitId(id)
        const { taken, claims } = find(producer)
        claims.delete(seq)
        taken.add(seq)
      }
    },
    async release(ids) {
      for (const id of ids) {
        const { producer, seq } = splitId(id)
        producers.get(producer)?.claims.delete(seq)
      }
    },
    async close() {
      producers.clear()
    },
  }
}
