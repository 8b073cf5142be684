import type { Limiter } from 'sluice'
import { expect, test } from 'vitest'
import { StoreActivity } from './store-activity.ts'

test('how the store was used is of the last minute, also after an idle hour', () => {
  const listeners: Record<string, (event: object) => void> = {}
  const limiter = {
    on(name: string, listener: (event: object) => void) {
      listeners[name] = listener
      return () => {}
    },
  } as unknown as Limiter
  let nowMs = 1000.5
  const activity = new StoreActivity(limiter, () => nowMs)
  const unknown = { roundTripP99Ms: null, decisionsPerCall: null, answeredLocally: null }
  expect(activity.look()).toEqual(unknown)
  listeners.answeredLocally!({})
  expect(activity.look(), 'all without a call').toMatchObject({ answeredLocally: 1 })
  listeners.storeAnswered!({ asks: 3, tookMs: 1 })
  expect(activity.look()).toMatchObject({ decisionsPerCall: 3, answeredLocally: 0.25 })
  nowMs += 31_000
  listeners.storeAnswered!({ asks: 1, tookMs: 1 })
  expect(activity.look()).toMatchObject({ decisionsPerCall: 2, answeredLocally: 0.2 })
  nowMs += 3_600_000
  expect(activity.look()).toEqual(unknown)
})
