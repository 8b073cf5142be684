import { describe, expect, test } from 'vitest'
import { systemClock } from '../../runtime/system-clock.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { exchange } from '../booking/exchange.ts'
import type { BookingRules, Step, StepResult } from '../booking/messages.ts'
import { newState } from '../booking/state.ts'
import { createEgress } from '../create-egress.ts'
import { mostInAnyPeriod, startVendor } from '../testing/vendor.ts'
import { InstantClient } from './instant-client.ts'
import type { BookingPort } from './ports/booking-port.ts'
import { memoryPort } from './ports/memory-port.ts'
import { grantOf } from './simulation/fleet.ts'

const key = 'requests/1000'
const rulesOf = (spacing: 'even' | 'burst', amount: number, marginMs = 0): BookingRules => ({
  limits: [{ key, amount, periodMs: 1000 }],
  ...{ maxQueue: 10, maxQueuePerTenant: 10, heldMs: 1000, retryPerCall: 0, retryPerSecond: 0 },
  spacing,
  marginMs,
})

function book(rules: BookingRules, counts: readonly number[], stepMs = 0): number[] {
  const state = newState(0)
  const at: number[] = []
  counts.forEach((count, tick) => {
    const ids = Array.from({ length: count }, (_, i) => `${tick}-${i}`)
    const maxWaitsMs = ids.map(() => 1e9)
    const step = { op: 'instants' as const, ids, units: { [key]: 1 }, maxWaitsMs }
    const { results } = exchange(state, { owner: 'a', sinceMs: -1, rules, steps: [step] }, tick * stepMs)
    at.push(...(results[0] as Extract<StepResult, { is: 'instants' }>).at)
  })
  return at
}

describe('a client that waits for an answer', () => {
  test('requests each instant once, and never gives back one that it uses', async () => {
    const port = memoryPort(systemClock())
    const asked: Step[] = []
    const slow: BookingPort = {
      ...{ name: 'slow', listen: port.listen, close: port.close },
      async exchange(upstream, what, withinMs) {
        asked.push(...what.steps)
        await new Promise((resolve) => setTimeout(resolve, 5))
        return port.exchange(upstream, what, withinMs)
      },
    }
    const client = new InstantClient({
      ...{ port: slow, clock: systemClock(), owner: 'a', upstream: 'v', deadlineMs: 5000 },
      ...{
        rules: () => rulesOf('even', 200),
        onStoreFailure: () => 'closed' as const,
        replicas: undefined,
        onFailure: () => undefined,
      },
    })
    const grants: Promise<unknown>[] = []
    for (let i = 0; i < 40; i++) {
      const booking = { ...{ tenant: '', weight: 1, priorityMs: 0, scope: '', first: true, units: { [key]: 1 } } }
      grants.push(grantOf(client, { ...booking, arrivedMs: performance.now(), maxWaitMs: 60_000 }))
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    await Promise.all(grants)
    const ids = asked.flatMap((step) => (step.op === 'instants' ? step.ids : []))
    expect(ids).toHaveLength(new Set(ids).size)
    expect(asked.filter(({ op }) => op === 'return')).toEqual([])
    await client.close()
  })
})

test('those that wait book again when shared state was lost, so that others do not get their times too', async () => {
  const clock = virtualClock()
  let state = newState(0, 'before')
  const port: BookingPort = {
    ...{ name: 'virtual', listen: () => () => {}, close: async () => {} },
    exchange: async (_, asked) => exchange(state, asked, clock.monotonic()),
  }
  const clientOf = (owner: string): InstantClient =>
    new InstantClient({
      ...{ port, clock, owner, upstream: 'v', deadlineMs: 5000, rules: () => rulesOf('even', 10) },
      ...{ onStoreFailure: () => 'closed' as const, replicas: undefined, onFailure: () => undefined },
    })
  const [a, b] = [clientOf('a'), clientOf('b')]
  const sent: number[] = []
  const call = (client: InstantClient): Promise<unknown> => {
    const booking = { ...{ tenant: '', weight: 1, priorityMs: 0, scope: '', first: true, units: { [key]: 1 } } }
    const granted = grantOf(client, { ...booking, arrivedMs: clock.monotonic(), maxWaitMs: 60_000 })
    return granted.then(() => sent.push(clock.monotonic()))
  }
  const calls = Array.from({ length: 40 }, () => call(a))
  await clock.advance(1000)
  state = newState(clock.monotonic(), 'after')
  calls.push(call(a), ...Array.from({ length: 40 }, () => call(b)))
  await clock.advance(10_000)
  await Promise.all(calls)
  // One period is not known to the new state.
  expect(
    mostInAnyPeriod(
      sent.filter((at) => at > 1100),
      1000,
    ),
  ).toBeLessThanOrEqual(10)
  await Promise.all([a.close(), b.close()])
})

describe('instants', () => {
  test('are a period divided by the amount apart, and the margin widens the period', () => {
    expect(book(rulesOf('even', 4), [5])).toEqual([0, 250_000, 500_000, 750_000, 1_000_000])
    expect(book(rulesOf('even', 4, 40), [3])).toEqual([0, 260_000, 520_000])
  })

  test('come at once while there is room, and then a period after those that make room', () => {
    expect(book(rulesOf('burst', 2, 10), [5])).toEqual([0, 0, 1_010_000, 1_010_000, 2_020_000])
  })

  test.each(['even', 'burst'] as const)('never exceed the limit in any period: %s', (spacing) => {
    for (const amount of [3, 25, 250]) {
      const at = book(
        rulesOf(spacing, amount),
        Array.from({ length: 40 }, (_, i) => (i * 7) % 60),
        130,
      )
      const ms = at.map((us) => us / 1000)
      expect(mostInAnyPeriod(ms, 1000)).toBeLessThanOrEqual(amount)
      expect([...at].sort((a, b) => a - b)).toEqual(at)
    }
  })

  test('that are returned go to the next booking', () => {
    const state = newState(0)
    const rules = rulesOf('even', 4)
    const ask = (id: string) => ({ op: 'instants' as const, ids: [id], units: { [key]: 1 }, maxWaitsMs: [1e6] })
    const run = (...steps: Parameters<typeof exchange>[1]['steps']) =>
      exchange(state, { owner: 'a', sinceMs: -1, rules, steps }, 0).results.at(-1)
    run(ask('1'))
    run(ask('2'))
    run(ask('3'))
    run({ op: 'return', atUs: 250_000, units: { [key]: 1 } })
    expect(run(ask('4'))).toEqual({ is: 'instants', at: [250_000] })
    expect(run(ask('4'))).toEqual({ is: 'instants', at: [250_000] })
    expect(run(ask('5'))).toEqual({ is: 'instants', at: [750_000] })
  })

  test('are refused when they are later than the maximum wait', () => {
    const step = { op: 'instants' as const, ids: ['1', '2'], units: { [key]: 1 }, maxWaitsMs: [0, 400] }
    const asked = { owner: 'a', sinceMs: -1, rules: rulesOf('even', 2), steps: [step] }
    expect(exchange(newState(0), asked, 0).results[0]).toEqual({ is: 'instants', at: [0, -501] })
  })
})

test('calls under an estimated bound are spaced and reach the vendor', async () => {
  const vendor = await startVendor()
  const upstream = {
    name: 'v',
    origin: vendor.origin,
    limits: { amount: 20, per: '500ms' },
    bound: 'estimated' as const,
  }
  const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] }, clock: systemClock() })
  await Promise.all(Array.from({ length: 50 }, async () => (await egress.fetch(vendor.origin)).text()))
  const arrivals = [...vendor.arrivals]
  expect(arrivals).toHaveLength(50)
  // The first may be sent at once; 49 more follow at least 25 ms apart.
  expect(arrivals.at(-1)! - arrivals[0]!).toBeGreaterThan(48 * 25)
  expect(egress.stats()[0]!.marginMs).toBeGreaterThanOrEqual(10)
  await expect(
    egress
      .fetch(vendor.origin, { sluice: { maxWait: 0 } })
      .then(() => egress.fetch(vendor.origin, { sluice: { maxWait: 0 } })),
  ).rejects.toMatchObject({ reason: 'wait-too-long' })
  await egress.close()
  await vendor.close()
})
