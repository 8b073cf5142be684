import type { Clock } from '../../core/clock.ts'
import type { Answer, Ask } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import type { FallbackStore } from '../callback-store.ts'
import type { MemoryStore } from '../memory/memory-store.ts'
import { Observers } from '../observers.ts'

/**
 * The fallback of a memory store whose rules are all `open`. Such a store is never away: it only fails to decide for a
 * new subject while it is full.
 */
export function openFallback(store: MemoryStore, clock: Clock): FallbackStore {
  const observers = new Observers()
  const decide = (ask: Ask, withinMs: number): Answer => {
    try {
      return store.decide(ask, withinMs) as Answer
    } catch (error) {
      const failure = toStoreError(error)
      observers.failure(failure.kind, failure)
      if (ask.kind !== 'take' && ask.kind !== 'peek') throw failure
      return answerWithout(ask, failure, true, clock.now())
    }
  }
  return {
    ...{ name: store.name, breaker: 'closed', lastContactMs: 0, failure: undefined },
    decide,
    submit: decide,
    watch: (observer) => observers.add(observer),
    health: (withinMs) => store.health(withinMs),
    close: async () => {},
  }
}

/** Shared by all degraded answers to one charge, of which there may be thousands at the same moment. */
const noStatuses: Answer['statuses'] = Object.freeze([Object.freeze([])])

/** What is answered without a store, to what it could not decide; `isOpen` lets it pass. */
export function answerWithout(ask: Ask, { kind }: StoreError, isOpen: boolean, nowUs: number): Answer {
  const copies = ask.kind === 'take' ? ask.copies : 1
  return {
    allowed: isOpen,
    granted: isOpen ? copies : 0,
    nowUs,
    statuses: ask.charges.length === 1 ? noStatuses : ask.charges.map(() => []),
    failure: kind,
    by: isOpen ? 'open' : 'closed',
  }
}

/** What a store threw, as an error of a store. */
export function toStoreError(error: unknown): StoreError {
  return error instanceof StoreError
    ? error
    : new StoreError('other', (error as Error)?.message ?? String(error), { cause: error })
}
