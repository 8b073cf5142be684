import { describe, expect, test } from 'vitest'
import { StoreError } from '../../core/errors.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { mostInAnyPeriod } from '../testing/vendor.ts'
import { BookingClient } from './booking-client.ts'
import { memoryPort } from './memory-port.ts'
import type { BookedLimit, Step } from './messages.ts'
import { seeded } from './simulation/random-history.ts'
import { grantOf, World, type WorldOptions } from './simulation/world.ts'

const perSecond = (amount: number): BookedLimit => ({ key: 'requests/1000', amount, periodMs: 1000 })
const perMinute = (amount: number): BookedLimit => ({ key: 'requests/60000', amount, periodMs: 60_000 })
const worldOf = (limits: readonly BookedLimit[], over: Partial<WorldOptions> = {}): World =>
  new World({ clock: virtualClock(), seed: 1, limits, ...over })

describe('when shared state cannot be reached', () => {
  test('nothing is granted, and calls go on when it is back', async () => {
    const world = worldOf([perSecond(4)])
    const process = world.start(10)
    await world.clock.advance(3000)
    const before = world.arrivals.length
    process.isCut = true
    await world.clock.advance(700)
    expect(process.client.outage).toBe('closed')
    const during = world.arrivals.length
    await world.clock.advance(4000)
    expect([before > 8, world.arrivals.length]).toEqual([true, during])
    process.isCut = false
    await world.clock.advance(3000)
    expect(process.client.outage).toBeUndefined()
    expect(world.arrivals.length).toBeGreaterThan(during + 6)
    expect(mostInAnyPeriod(world.arrivals, 1000)).toBe(4)
  })

  test('a replica grants its share, rounded down, where the policy says local; then all count in shared state', async () => {
    const world = worldOf([perSecond(5)], { onStoreFailure: 'local' })
    const [first, second] = [world.start(1), world.start(1)]
    await world.clock.advance(5000)
    for (const each of [first, second]) each.isCut = true
    await world.clock.advance(2000)
    for (let i = 0; i < 20; i++) void world.call(first).catch(() => undefined)
    const since = world.clock.monotonic() + 1500
    await world.clock.advance(6000)
    expect(first.client.outage).toBe('local')
    // Two of five each.
    expect(
      mostInAnyPeriod(
        world.arrivals.filter((at) => at > since),
        1000,
      ),
    ).toBe(4)
    for (const each of [first, second]) each.isCut = false
    await world.clock.advance(1500)
    expect(first.client.outage).toBeUndefined()
    expect(first.client.last!.used[0]).toBeGreaterThanOrEqual(4)
  })

  test('what a replica was granted just before counts in its share', async () => {
    const world = worldOf([perSecond(4)], { onStoreFailure: 'local' })
    const process = world.start(20)
    await world.clock.advance(5250)
    process.isCut = true
    await world.clock.advance(4000)
    expect(process.client.outage).toBe('local')
    process.isCut = false
    await world.clock.advance(4000)
    expect(process.client.outage).toBeUndefined()
    expect(mostInAnyPeriod(world.arrivals, 1000)).toBe(4)
  })

  test('a replica that does not know how many share the limit grants nothing, unless it was told', async () => {
    for (const [replicas, wanted] of [
      [undefined, 0],
      [4, 2],
    ] as const) {
      const options = { onStoreFailure: 'local', ...(replicas ? { replicas } : {}) } as const
      const world = worldOf([perSecond(9)], options)
      const process = world.start(0)
      process.isCut = true
      for (let i = 0; i < 10; i++) void world.call(process).catch(() => undefined)
      await world.clock.advance(3000)
      expect(mostInAnyPeriod(world.arrivals, 1000)).toBe(wanted)
    }
  })

  test('everything is granted where the policy says open', async () => {
    const world = worldOf([perSecond(1)], { onStoreFailure: 'open' })
    const process = world.start(0)
    process.isCut = true
    for (let i = 0; i < 20; i++) void world.call(process)
    await world.clock.advance(2000)
    expect(world.arrivals).toHaveLength(20)
  })

  test('a process that is too busy to ask in time does not take that for an outage', async () => {
    const clock = virtualClock()
    const inner = memoryPort(clock)
    let failures = 2
    const port = {
      ...{ name: 'busy', close: inner.close },
      exchange: async (...args: Parameters<typeof inner.exchange>) => {
        if (failures-- > 0) throw new StoreError('overload', 'too busy')
        return inner.exchange(...args)
      },
    }
    const { rules } = worldOf([perSecond(1)])
    const client = new BookingClient({
      ...{
        port,
        clock,
        owner: 'a',
        upstream: 'v',
        state: 'v',
        rules: () => rules,
        replicas: undefined,
        deadlineMs: 500,
      },
      onStoreFailure: () => 'closed',
      onFailure: () => expect.unreachable(),
      onSlowed: () => expect.unreachable(),
    })
    const booking = { tenant: '', weight: 1, priorityMs: 0, scope: '', units: {}, first: true, maxWaitMs: 5000 }
    const given = grantOf(client, { ...booking, arrivedMs: clock.monotonic() })
    await clock.advance(500)
    expect(client.outage).toBeUndefined()
    ;(await given).finish()
  })
})

describe('after shared state was lost', () => {
  test('living processes register what they know of a long limit, and calls go on within 3 s', async () => {
    const world = worldOf([perSecond(25), perMinute(300)], { latencyMs: 50 })
    for (let i = 0; i < 3; i++) world.start(5)
    await world.clock.advance(8000)
    expect(world.arrivals.length).toBeGreaterThan(150)
    world.server.wipe()
    const lostMs = world.clock.monotonic()
    const before = world.arrivals.length
    await world.clock.advance(3500)
    const next = world.arrivals.slice(before).find((at) => at > lostMs + 1500)
    expect(next! - lostMs).toBeLessThan(3000)
    await world.clock.advance(50_000)
    expect(world.arrivals.length).toBeGreaterThan(290)
    expect(mostInAnyPeriod(world.arrivals, 60_000)).toBeLessThanOrEqual(300)
  })

  test('a period that is still paced goes on where it was', async () => {
    const world = worldOf([perMinute(600)], { latencyMs: 20 })
    const first = world.start(10)
    await world.clock.advance(100)
    world.kill(first)
    world.server.wipe()
    const unknown = world.arrivals.length
    const { client } = world.start(10)
    await world.clock.advance(45_000)
    const before = world.arrivals.length
    world.server.wipe()
    const lostMs = world.clock.monotonic()
    await world.clock.advance(20_000)
    const next = world.arrivals.slice(before).find((at) => at > lostMs + 1500)
    expect(next! - lostMs).toBeLessThan(3500)
    expect(client.last!.pacedMs).toBe(0)
    await world.clock.advance(60_000)
    expect(mostInAnyPeriod(world.arrivals.slice(unknown), 60_000)).toBeLessThanOrEqual(600)
  })

  test.each(['pace', 'wait'] as const)(
    'without a living process the first period is paced to under twice the amount, or waited out: %s',
    async (afterLoss) => {
      const world = worldOf([perMinute(60)], { latencyMs: 20, over: { afterLoss } })
      const first = world.start(10)
      await world.clock.advance(10_000)
      expect(world.arrivals).toHaveLength(60)
      world.kill(first)
      world.server.wipe()
      const lostMs = world.clock.monotonic()
      world.start(10)
      await world.clock.advance(70_000)
      const since = world.arrivals.filter((at) => at > lostMs)
      expect(since[0]! - lostMs > 59_000).toBe(afterLoss === 'wait')
      if (afterLoss === 'pace') expect(since[0]! - lostMs).toBeLessThan(3500)
      expect(world.slowed.map(([by]) => by)).toEqual(['stateMissed', 'paced'])
      const [silentMs, pacedMs] = world.slowed.map(([, ms]) => ms)
      expect(silentMs).toBeLessThanOrEqual(3000)
      expect(pacedMs).toBeGreaterThan(55_000)
      expect(mostInAnyPeriod(world.arrivals, 60_000)).toBeLessThan(afterLoss === 'wait' ? 61 : 120)
    },
  )
})

describe('what an idle process shows', () => {
  const pauseOf = (ms: number): Step => ({
    ...{ op: 'pause', scope: '', ms, sentAgoMs: 0, chance: 0, maxMs: 60_000, refused: true },
  })

  test('a loss and a pause end without another call', async () => {
    const world = worldOf([perSecond(4)])
    const process = world.start(0)
    await Promise.all([world.call(process), world.clock.advance(3000)])
    world.server.wipe()
    const refused = world.call(process, { maxWaitMs: 700 }).catch((error: unknown) => error)
    await world.clock.advance(600)
    expect(process.client.last!.recoveringMs).toBeGreaterThan(1000)
    await world.clock.advance(200)
    const { retryAfterMs } = (await refused) as { retryAfterMs: number }
    expect(retryAfterMs).toBeGreaterThanOrEqual(process.client.last!.recoveringMs)
    await world.clock.advance(3000)
    expect(process.client.last).toMatchObject({ recoveringMs: 0, pausedMs: 0 })
    void process.client.ask(pauseOf(20_000))
    await world.clock.advance(5000)
    expect(process.client.last!.pausedMs).toBeGreaterThan(10_000)
    expect(process.client.last!.pausedMs).toBeLessThan(16_000)
    await world.clock.advance(16_000)
    expect(process.client.last!.pausedMs).toBe(0)
  })

  test('the queue of others is gone when it is gone', async () => {
    const world = worldOf([perSecond(4)])
    const [idle, busy] = [world.start(0), world.start(0)]
    await Promise.all([world.call(idle), world.clock.advance(4000)])
    void idle.client.ask(pauseOf(5000))
    for (let i = 0; i < 10; i++) void world.call(busy)
    await world.clock.advance(500)
    void world.call(idle, { maxWaitMs: 4000 }).catch(() => undefined)
    await world.clock.advance(4000)
    expect(idle.client.last!.depth).toBe(10)
    await world.clock.advance(12_000)
    expect(busy.client.waiting).toBe(0)
    expect(idle.client.last).toMatchObject({ depth: 0, used: [0] })
  })
})

describe('live changes', () => {
  test('never more than the old limits allowed and the new amount, in any period of either', async () => {
    for (let seed = 1; seed <= 25; seed++) {
      const random = seeded(seed)
      const pick = (): BookedLimit => {
        const periodMs = [400, 1000, 2500, 10_000][Math.floor(random() * 4)]!
        return { key: `requests/${periodMs}`, periodMs, amount: 2 + Math.floor(random() * 80) }
      }
      let limits = [pick()]
      const world = new World({ clock: virtualClock(), seed, limits, latencyMs: 10 })
      for (let i = 0; i < 2; i++) world.start(60)
      let fromMs = 0
      for (let change = 0; change < 4; change++) {
        const before = limits
        const beforeMs = fromMs
        fromMs = world.clock.monotonic()
        limits = random() < 0.3 ? [pick(), pick()].filter((a, i, all) => i === 0 || a.key !== all[0]!.key) : [pick()]
        world.rules = { ...world.rules, limits }
        await world.clock.advance(3000 + random() * 9000)
        for (const { periodMs } of [...before, ...limits]) {
          const allowed = (by: readonly BookedLimit[]): number =>
            Math.min(...by.map((each) => each.amount * Math.ceil(periodMs / each.periodMs)))
          const near = world.arrivals.filter((at) => at > Math.max(beforeMs, fromMs - periodMs))
          const most = allowed(before) + allowed(limits)
          expect(mostInAnyPeriod(near, periodMs), `seed ${seed}, ${change}`).toBeLessThanOrEqual(most)
        }
        const settled = world.arrivals.filter((at) => at > fromMs + Math.max(...limits.map((each) => each.periodMs)))
        for (const { periodMs, amount } of limits)
          expect(mostInAnyPeriod(settled, periodMs), `seed ${seed}, ${change}`).toBeLessThanOrEqual(amount)
      }
    }
  })
})

describe('a call that cannot be served within its wait', () => {
  test('is refused, at arrival where that is certain, with when it could be served', async () => {
    const world = worldOf([{ key: 'requests/20000', amount: 1, periodMs: 20_000 }])
    const process = world.start(0)
    void world.call(process)
    await world.clock.advance(500)
    const refused = world.call(process, { maxWaitMs: 1000 }).catch((error: unknown) => error)
    await world.clock.advance(10)
    expect(process.client.waiting).toBe(0)
    expect(await refused).toMatchObject({ reason: 'wait-too-long', retryAfterMs: expect.closeTo(19_550, -3) })
  })

  test('more calls than can wait are refused at once, and the others are served in order', async () => {
    const world = worldOf([perSecond(25)], { over: { maxQueue: 100 }, latencyMs: 0 })
    const process = world.start(0)
    const served: number[] = []
    const results = Array.from({ length: 5000 }, (_, at) =>
      world.call(process).then(
        () => served.push(at),
        ({ reason, retryAfterMs }: { reason: string; retryAfterMs: number }) => `${reason} ${retryAfterMs > 0}`,
      ),
    )
    await world.clock.advance(20_000)
    const refused = (await Promise.all(results)).filter((each) => typeof each === 'string')
    expect(new Set(refused)).toEqual(new Set(['queue-full true']))
    expect(served.length).toBeGreaterThanOrEqual(100)
    expect(served.every((at) => at < 130)).toBe(true)
    expect(mostInAnyPeriod(world.arrivals, 1000)).toBe(25)
  })
})
