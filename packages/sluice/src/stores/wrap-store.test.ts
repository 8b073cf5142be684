import { expect, test } from 'vitest'
import { memoryStore } from './memory/memory-store.ts'
import type { Store } from './store.ts'
import { wrapStore } from './wrap-store.ts'

const able: Store = {
  ...wrapStore(memoryStore(), {}),
  abilities: {
    inProcess: true,
    keepsDeadlines: true,
    submit: () => undefined,
    continuity: {} as never,
  },
}

test('a wrapper that does not change deciding keeps every ability', () => {
  expect(wrapStore(able, { name: 'other' }).abilities).toEqual(able.abilities)
})

test('one that does keeps those that do not go past it, and can declare others again', () => {
  const decide: Store['decide'] = (ask, withinMs) => able.decide(ask, withinMs)
  expect(Object.keys(wrapStore(able, { decide }).abilities!)).toEqual(['continuity'])
  expect(Object.keys(wrapStore(able, { decide, abilities: { inProcess: true } }).abilities!)).toEqual([
    'continuity',
    'inProcess',
  ])
})

test('observers and users reach the store behind it', async () => {
  const seen: string[] = []
  const store: Store = {
    ...able,
    watch: () => {
      seen.push('watch')
      return () => seen.push('stop')
    },
    use: () => {
      seen.push('use')
      return async () => void seen.push('release')
    },
  }
  const wrapped = wrapStore(wrapStore(store, {}), { name: 'twice' })
  wrapped.watch!({})()
  await wrapped.use!()()
  expect(seen).toEqual(['watch', 'stop', 'use', 'release'])
  expect(wrapStore({ ...able, watch: undefined, use: undefined } as never, {}).watch!({})()).toBeUndefined()
})
