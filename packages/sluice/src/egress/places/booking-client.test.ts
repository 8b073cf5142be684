import { describe, expect, test } from 'vitest'
import { type VirtualClock, virtualClock } from '../../testing/virtual-clock.ts'
import type { BookingRules } from '../booking/messages.ts'
import { seeded } from '../testing/random-history.ts'
import { mostInAnyPeriod } from '../testing/vendor.ts'
import type { BookingClient } from './booking-client.ts'
import type { Grant } from './grant.ts'
import { grantOf, SimulatedFleet, sleep } from './simulation/fleet.ts'

const rulesOf = (amount: number): BookingRules => ({
  limits: [{ key: 'requests/1000', amount, periodMs: 1000 }],
  maxQueue: 1000,
  maxQueuePerTenant: 1000,
  heldMs: 6000,
  spacing: 'even',
  marginMs: 0,
  retryPerCall: 0,
  retryPerSecond: 0,
})

const timeoutMs = 5000

/** Books and, once granted, sends: the vendor writes down when the call arrives, and answers. */
async function call(
  clock: VirtualClock,
  client: BookingClient,
  arrivals: number[],
  random: () => number,
  isDead: () => boolean = () => false,
): Promise<string> {
  const given: Grant = await grantOf(client, {
    ...{ tenant: '', weight: 1, priorityMs: 0, scope: '', first: true, units: { 'requests/1000': 1 } },
    arrivedMs: clock.monotonic(),
    maxWaitMs: 60_000,
  })
  // The event loop may run other work until the head is written.
  if (random() < 0.1) await sleep(clock, random() * 1500)
  if (isDead()) return 'dead'
  const nowMs = clock.monotonic()
  if (nowMs > given.notAfterMs || nowMs >= given.arriveByMs) {
    given.cancel()
    return 'late'
  }
  const wait = Math.min(timeoutMs, given.arriveByMs - nowMs)
  // The request takes some time to arrive, sometimes nearly all that is allowed.
  await sleep(clock, random() < 0.05 ? random() * wait : Math.min(wait, random() * 20))
  arrivals.push(clock.monotonic())
  await sleep(clock, random() * 30)
  if (isDead()) return 'dead'
  given.finish()
  return 'ok'
}

describe('when shared state cannot be reached', () => {
  test('a process continues with the places it holds for 2 s, and then waits', async () => {
    const clock = virtualClock()
    const fleet = new SimulatedFleet({ clock, rules: rulesOf(4) })
    const [a, b] = [fleet.add(), fleet.add()]
    const arrivals: number[] = []
    const half = (): number => 0.5
    for (const { client } of [a, a, b, b]) void call(clock, client, arrivals, half)
    await clock.advance(500)
    expect(arrivals).toHaveLength(4)
    void a.client.ask({ op: 'retry' })
    await clock.advance(10)
    a.link.isCut = true
    for (let i = 0; i < 10; i++) void call(clock, a.client, arrivals, half)
    await clock.advance(1800)
    expect(a.client.outage).toBe('held')
    // Two places, used again twice each.
    expect(arrivals).toHaveLength(8)
    await clock.advance(5000)
    expect(a.client.outage).toBe('closed')
    expect(arrivals).toHaveLength(8)
    a.link.isCut = false
    await clock.advance(3000)
    expect(a.client.outage).toBeUndefined()
    expect(arrivals.length).toBeGreaterThan(12)
    expect(mostInAnyPeriod(arrivals, 1000)).toBeLessThanOrEqual(4)
  })

  test('a limit that is lowered meanwhile is followed on the places held here, and one that is raised gives no more', async () => {
    const clock = virtualClock()
    const fleet = new SimulatedFleet({ clock, rules: rulesOf(6) })
    const a = fleet.add()
    const arrivals: number[] = []
    const half = (): number => 0.5
    for (let i = 0; i < 6; i++) void call(clock, a.client, arrivals, half)
    await clock.advance(500)
    expect(arrivals).toHaveLength(6)
    void a.client.ask({ op: 'retry' })
    await clock.advance(10)
    a.link.isCut = true
    for (let i = 0; i < 20; i++) void call(clock, a.client, arrivals, half)
    fleet.rules = rulesOf(100)
    await clock.advance(600)
    fleet.rules = rulesOf(2)
    await clock.advance(1200)
    expect(a.client.outage).toBe('held')
    const later = arrivals.slice(6)
    expect(later.length).toBeGreaterThan(0)
    expect(mostInAnyPeriod(arrivals, 1000)).toBeLessThanOrEqual(6)
    const lowered = later.filter((atMs) => atMs > clock.monotonic() - 1200)
    expect(mostInAnyPeriod(lowered, 1000)).toBeLessThanOrEqual(2)
  })

  test('a share follows a limit that is changed meanwhile', async () => {
    const clock = virtualClock()
    const fleet = new SimulatedFleet({ clock, rules: rulesOf(20), onStoreFailure: 'local', replicas: 4 })
    const a = fleet.add()
    a.link.isCut = true
    const arrivals: number[] = []
    for (let i = 0; i < 100; i++) void call(clock, a.client, arrivals, () => 0.5)
    await clock.advance(4500)
    expect(a.client.outage).toBe('local')
    expect(mostInAnyPeriod(arrivals, 1000)).toBe(5)
    fleet.rules = rulesOf(8)
    await clock.advance(2100)
    const changed = arrivals.length
    await clock.advance(4000)
    expect(mostInAnyPeriod(arrivals.slice(changed), 1000)).toBe(2)
    fleet.rules = rulesOf(3)
    await clock.advance(2100)
    const none = arrivals.length
    await clock.advance(4000)
    expect(arrivals).toHaveLength(none)
  })

  test('a replica grants its share, rounded down, where the policy says local', async () => {
    const clock = virtualClock()
    const fleet = new SimulatedFleet({ clock, rules: rulesOf(5), onStoreFailure: 'local' })
    const [a, b] = [fleet.add(), fleet.add()]
    const arrivals: number[] = []
    for (let i = 0; i < 5; i++) {
      for (const { client } of [a, b]) void call(clock, client, [], () => 0.5)
      await clock.advance(1000)
    }
    a.link.isCut = true
    await clock.advance(6000)
    for (let i = 0; i < 20; i++) void call(clock, a.client, arrivals, () => 0.5)
    await clock.advance(3000)
    expect(a.client.outage).toBe('local')
    expect(mostInAnyPeriod(arrivals, 1000)).toBe(2)
  })

  test('replicas that start while it is away grant nothing, as it is unknown how many share the limit', async () => {
    const clock = virtualClock()
    const fleet = new SimulatedFleet({ clock, rules: rulesOf(5), onStoreFailure: 'local' })
    const arrivals: number[] = []
    for (let i = 0; i < 4; i++) {
      const { client, link } = fleet.add()
      link.isCut = true
      for (let j = 0; j < 10; j++) void call(clock, client, arrivals, () => 0.5)
    }
    await clock.advance(10_000)
    expect(fleet.members.map(({ client }) => client.outage)).toEqual(['closed', 'closed', 'closed', 'closed'])
    expect(arrivals).toEqual([])
    for (const { link } of fleet.members) link.isCut = false
    await clock.advance(10_000)
    expect(arrivals).toHaveLength(40)
    expect(mostInAnyPeriod(arrivals, 1000)).toBe(5)
  })

  test('replicas with a configured count share the limit from the start', async () => {
    const clock = virtualClock()
    const fleet = new SimulatedFleet({ clock, rules: rulesOf(9), onStoreFailure: 'local', replicas: 4 })
    const arrivals: number[] = []
    for (let i = 0; i < 4; i++) {
      const { client, link } = fleet.add()
      link.isCut = true
      for (let j = 0; j < 10; j++) void call(clock, client, arrivals, () => 0.5)
    }
    await clock.advance(3000)
    expect(mostInAnyPeriod(arrivals, 1000)).toBe(8)
  })

  test('a replica that was the first to be answered does not assume that it is the only one', async () => {
    const clock = virtualClock()
    const fleet = new SimulatedFleet({ clock, rules: rulesOf(5), onStoreFailure: 'local' })
    const arrivals: number[] = []
    const { client, link } = fleet.add()
    void call(clock, client, [], () => 0.5)
    await clock.advance(500)
    link.isCut = true
    await clock.advance(5000)
    for (let i = 0; i < 10; i++) void call(clock, client, arrivals, () => 0.5)
    await clock.advance(5000)
    expect(arrivals).toEqual([])
  })

  test('a replica grants everything where the policy says open', async () => {
    const clock = virtualClock()
    const fleet = new SimulatedFleet({ clock, rules: rulesOf(1), onStoreFailure: 'open' })
    const a = fleet.add()
    a.link.isCut = true
    const arrivals: number[] = []
    for (let i = 0; i < 20; i++) void call(clock, a.client, arrivals, () => 0.5)
    await clock.advance(3000)
    expect(arrivals).toHaveLength(20)
  })
})

describe('a call that cannot be served within its wait', () => {
  const slow = { ...rulesOf(1), limits: [{ key: 'requests/1000', amount: 1, periodMs: 20_000 }] }
  const booking = (clock: VirtualClock) => ({
    ...{ tenant: '', weight: 1, priorityMs: 0, scope: '', first: true, units: { 'requests/1000': 1 } },
    ...{ arrivedMs: clock.monotonic(), maxWaitMs: 1000 },
  })

  test('is refused at once when the calls before it are answered, and otherwise at its maximum wait; both report when', async () => {
    const clock = virtualClock()
    const { client } = new SimulatedFleet({ clock, rules: slow }).add()
    const first = grantOf(client, booking(clock))
    await clock.advance(100)
    const early = grantOf(client, booking(clock)).catch((error: unknown) => error)
    await clock.advance(999)
    expect(client.waiting).toBe(1)
    await clock.advance(10)
    expect(await early).toMatchObject({ reason: 'wait-too-long', retryAfterMs: expect.closeTo(19_000, -2) })
    ;(await first).finish()
    await clock.advance(100)
    const late = grantOf(client, booking(clock)).catch((error: unknown) => error)
    await clock.advance(10)
    expect(client.waiting).toBe(0)
    expect(await late).toMatchObject({ reason: 'wait-too-long', retryAfterMs: expect.closeTo(19_900, -2) })
  })
})

test('no reply that is lost, link that is cut or process that dies lets the vendor see more than the limit', async () => {
  for (let seed = 1; seed <= 25; seed++) {
    const random = seeded(seed)
    const clock = virtualClock()
    const fleet = new SimulatedFleet({ clock, rules: rulesOf(5), random })
    const arrivals: number[] = []
    let ended = false
    const worker = async (member: ReturnType<SimulatedFleet['add']>, isDead: () => boolean): Promise<void> => {
      while (!ended && !isDead()) {
        await call(clock, member.client, arrivals, random, isDead).catch(() => undefined)
        await sleep(clock, random() * 10)
      }
    }
    const dead = new Set<unknown>()
    const start = (): void => {
      const member = fleet.add()
      for (let i = 0; i < 5; i++) void worker(member, () => dead.has(member))
    }
    for (let i = 0; i < 3; i++) start()
    for (let i = 0; i < 20; i++) {
      await clock.advance(Math.ceil(random() * 2500))
      const member = fleet.members[Math.floor(random() * fleet.members.length)]!
      const fault = random()
      if (dead.has(member)) continue
      if (fault < 0.4) member.link.isCut = !member.link.isCut
      else if (fault < 0.7) member.link.isMute = !member.link.isMute
      else if (fault < 0.8) {
        // The process stopped; it sends nothing more.
        dead.add(member)
        member.link.isCut = true
        start()
      } else Object.assign(member.link, { isCut: false, isMute: false })
    }
    for (const { link } of fleet.members.filter((member) => !dead.has(member)))
      Object.assign(link, { isCut: false, isMute: false })
    await clock.advance(8000)
    const before = arrivals.length
    await clock.advance(5000)
    ended = true
    expect(mostInAnyPeriod(arrivals, 1000), `seed ${seed}`).toBeLessThanOrEqual(5)
    expect(arrivals.length - before, `seed ${seed}: no more calls`).toBeGreaterThan(5)
  }
}, 60_000)
