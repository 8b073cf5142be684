import type { BookedLimit } from '../../booking/messages.ts'
import { mostInAnyPeriod } from '../../testing/vendor.ts'
import type { Mutation } from './server.ts'
import { type SimulatedClock, World, type WorldOptions } from './world.ts'

/** The most arrivals in any period of each limit, and which limits were exceeded. */
export interface Outcome {
  readonly most: readonly number[]
  readonly isBroken: boolean
  readonly arrivals: readonly number[]
  readonly messages: number
}

export function judge({ arrivals, messages }: World, limits: readonly BookedLimit[]): Outcome {
  const most = limits.map(({ periodMs }) => mostInAnyPeriod(arrivals, periodMs))
  return { most, isBroken: most.some((count, at) => count > limits[at]!.amount), arrivals, messages }
}

const short: BookedLimit = { key: 'requests/1000', amount: 5, periodMs: 1000 }
const longer: BookedLimit = { key: 'requests/2500', amount: 9, periodMs: 2500 }

/** Random faults for 10 s of true time: losses, kills, stops, freezes, wipes, failovers, clock jumps. */
export async function randomSchedule(clock: SimulatedClock, seed: number, mutation: Mutation = {}): Promise<Outcome> {
  const options: WorldOptions = { clock, seed, limits: seed % 3 === 0 ? [short, longer] : [short], mutation }
  const world = new World({ ...options, loss: seed % 2 === 0 ? 0.03 : 0, latencyMs: seed % 5 === 0 ? 0 : 150 })
  const { random, server } = world
  for (let i = 0; i < 3; i++) world.start(4)
  // A wipe while nothing is known of the calls before it would be a loss that nobody can make good.
  await world.clock.advance(1500)
  for (let at = 0; at < 14; at++) {
    await world.clock.advance(Math.ceil(random() * 700))
    if (at % 2 === 0) server.replicate()
    const process = world.processes[Math.floor(random() * world.processes.length)]!
    const fault = random()
    if (fault < 0.12) world.stop(process, random() < 0.5 ? 100 + random() * 900 : 3500)
    else if (fault < 0.22) {
      world.kill(process)
      world.start(4)
    } else if (fault < 0.36) server.aheadMs += pick(random, [40, 90, 900, 5000, -40, -3000])
    else if (fault < 0.46) server.frozenUntilMs = world.clock.monotonic() + pick(random, [300, 700, 1500])
    else if (fault < 0.56) server.wipe()
    else if (fault < 0.64) process.isCut = !process.isCut
    else if (fault < 0.74) server.failOver()
  }
  for (const process of world.processes) process.isCut = false
  await world.clock.advance(1500)
  return judge(world, options.limits)
}

const pick = <T>(random: () => number, list: readonly T[]): T => list[Math.floor(random() * list.length)]!

/** A schedule that is made for one rule. */
export type Directed = (clock: SimulatedClock, seed: number, mutation?: Mutation) => Promise<Outcome>

/** Both clocks run fast, and the last calls of a period are on their way for as long as they can be. */
export const fastClocks: Directed = async (clock, seed, mutation = {}) => {
  let count = 0
  const delayMs = (): number => (Math.floor(count++ / 5) % 2 === 0 ? 24.9 : 0)
  const world = new World({ clock, seed, limits: [short], mutation, delayMs, speed: 1.0004, isInstant: true })
  world.start(12)
  await world.clock.advance(12_000)
  return judge(world, [short])
}

/** State is lost while all units were just used, and the clock of the server jumps over the silence. */
export const jumpOverSilence: Directed = async (clock, seed, mutation = {}) => {
  const world = new World({ clock, seed, limits: [short], mutation, latencyMs: 400 })
  const first = world.start(5)
  await world.clock.advance(5000)
  for (let at = 0; at < 3; at++) {
    world.kill(world.processes.at(-1)!)
    world.server.wipe()
    world.start(12)
    await world.clock.advance(20)
    world.server.aheadMs += 4000
    await world.clock.advance(2600)
  }
  world.kill(first)
  return judge(world, [short])
}

/**
 * The clock of the server goes back and forward again while one process is stopped: it does not know of the first jump
 * when it meets the second.
 */
export const backAndForward: Directed = async (clock, seed, mutation = {}) => {
  const world = new World({ clock, seed, limits: [short], mutation, latencyMs: 20 })
  const [stopped, other] = [world.start(6), world.start(6)]
  await world.clock.advance(3000)
  for (let at = 0; at < 8; at++) {
    const backMs = 300 + world.random() * 500
    world.stop(stopped, backMs + 200)
    world.server.aheadMs -= backMs
    await world.clock.advance(backMs + 150)
    world.stop(other, 200)
    world.server.aheadMs += backMs
    await world.clock.advance(1500)
  }
  return judge(world, [short])
}

/** Again and again the server answers after the process has given up and asked again. */
export const answeredTooLate: Directed = async (clock, seed, mutation = {}) => {
  const world = new World({ clock, seed, limits: [short], mutation, latencyMs: 20 })
  for (let i = 0; i < 3; i++) world.start(6)
  for (let at = 0; at < 12; at++) {
    await world.clock.advance(300 + world.random() * 700)
    world.server.frozenUntilMs = world.clock.monotonic() + 550 + world.random() * 300
    await world.clock.advance(900)
  }
  return judge(world, [short])
}

/** Calls whose arrival only the response shows; the replica takes over while some are in flight. */
export const failover: Directed = async (clock, seed, mutation = {}) => {
  const calls = { arrivalMs: undefined }
  const world = new World({ clock, seed, limits: [short], mutation, latencyMs: 400, calls })
  for (let i = 0; i < 3; i++) world.start(4)
  await world.clock.advance(3000 + world.random() * 1000)
  for (let at = 0; at < 3; at++) {
    world.server.replicate()
    await world.clock.advance(world.random() * 200)
    world.server.failOver()
    await world.clock.advance(6000)
  }
  return judge(world, [short])
}

/** The vendor reports what is left, as most do: after each call that leaves nothing, when there is more again. */
export async function honestVendor(clock: SimulatedClock, seed: number, latencyMs: number): Promise<Outcome> {
  const limits = [{ key: 'requests/1000', amount: 25, periodMs: 1000 }]
  const world = new World({ clock, seed, limits, latencyMs, isHonest: true, delayMs: (random) => random() * 5 })
  for (let i = 0; i < 4; i++) world.start(10 + latencyMs / 40)
  await world.clock.advance(15_000)
  return judge(world, limits)
}

/** Every process is stopped after it was granted a call, until long after others may use its units. */
export const stoppedWriters: Directed = async (clock, seed, mutation = {}) => {
  const world = new World({ clock, seed, limits: [short], mutation })
  for (let i = 0; i < 4; i++) world.start(4)
  for (let at = 0; at < 8; at++) {
    await world.clock.advance(1000 + world.random() * 100)
    for (const process of world.processes) if (world.random() < 0.5) world.stop(process, 600 + world.random() * 2000)
  }
  await world.clock.advance(4000)
  return judge(world, [short])
}
