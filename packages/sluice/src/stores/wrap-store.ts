import type { Answer, Ask } from '../core/engine/ask.ts'
import type { Store, StoreAbilities } from './store.ts'

/** What a wrapped store does differently. */
export interface StoreChanges {
  readonly name?: string
  /** Called instead of `decide` of the store. */
  readonly decide?: Store['decide']
  readonly health?: Store['health']
  readonly close?: Store['close']
  /** In place of those of the store, or beside them. */
  readonly abilities?: StoreAbilities
}

/**
 * A store like another one, except for what is changed. It keeps all abilities of the store, unless `decide` is
 * changed: then those that are about deciding are left out, as they would go past the change. Declare them again where
 * they still hold.
 *
 * @example
 * const counted = wrapStore(store, { decide: (ask, withinMs) => (count++, store.decide(ask, withinMs)) })
 */
export function wrapStore(store: Store, changes: StoreChanges): Store {
  const { inProcess, keepsDeadlines, submit, ...others } = store.abilities ?? {}
  const kept = changes.decide === undefined ? store.abilities : others
  return {
    name: changes.name ?? store.name,
    abilities: { ...kept, ...changes.abilities },
    decide: changes.decide ?? ((ask: Ask, withinMs: number): Answer | Promise<Answer> => store.decide(ask, withinMs)),
    watch: (observer) => store.watch?.(observer) ?? nothing,
    use: () => store.use?.() ?? nothingLater,
    health: changes.health ?? ((withinMs) => store.health(withinMs)),
    close: changes.close ?? (() => store.close()),
  }
}

function nothing(): void {}

async function nothingLater(): Promise<void> {}
