import type { Clock } from '../../core/clock.ts'
import { splitId } from './read-batch.ts'
import { claimMs, type Seen, type SeenIds } from './seen-ids.ts'

/** What is known of one producer. Its events come in order, so those taken in are mostly one run without gaps. */
interface Producer {
  /** Everything from `first` to `last` was taken in. */
  first: number
  last: number
  /** Taken in out of order, or being taken in: until when the claim holds, or `Infinity` once taken in. */
  readonly others: Map<number, number>
}

/** Remembers ids in this process, of the producers that were heard last. */
export function memoryIds(clock: Clock, maxProducers: number): SeenIds {
  const producers = new Map<string, Producer>()

  function find(name: string, seq: number): Producer {
    const known = producers.get(name)
    if (known) {
      producers.delete(name)
      producers.set(name, known)
      return known
    }
    const made: Producer = { first: seq, last: seq - 1, others: new Map() }
    producers.set(name, made)
    if (producers.size > maxProducers) producers.delete(producers.keys().next().value!)
    return made
  }

  function claimOne(id: string): Seen {
    const { producer: name, seq } = splitId(id)
    const producer = find(name, seq)
    if (seq >= producer.first && seq <= producer.last) return 'done'
    const untilMs = producer.others.get(seq) ?? 0
    if (untilMs === Infinity) return 'done'
    const nowMs = clock.monotonic()
    if (untilMs > nowMs) return 'pending'
    producer.others.set(seq, nowMs + claimMs)
    return 'new'
  }

  function finishOne(id: string): void {
    const { producer: name, seq } = splitId(id)
    const producer = find(name, seq)
    producer.others.set(seq, Infinity)
    while (producer.others.get(producer.last + 1) === Infinity) producer.others.delete(++producer.last)
  }

  return {
    claim: async (ids) => ids.map(claimOne),
    async finish(ids) {
      for (const id of ids) finishOne(id)
    },
    async release(ids) {
      for (const id of ids) {
        const { producer, seq } = splitId(id)
        const others = producers.get(producer)?.others
        if (others?.get(seq) !== Infinity) others?.delete(seq)
      }
    },
    async close() {
      producers.clear()
    },
  }
}
