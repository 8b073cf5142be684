import { describe, expect, test } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import type { BookingRules } from '../booking/messages.ts'
import type { RefusedError } from '../egress-error.ts'
import { BookingClient } from '../places/booking-client.ts'
import { memoryPort } from '../places/ports/memory-port.ts'
import { grantOf, sleep } from '../places/simulation/world.ts'
import { AdaptiveBooker } from './adaptive-booker.ts'
import { afterRefusal, newGradient } from './gradient.ts'

const bounds = { initial: 10, min: 1, max: 200 }
const rules: BookingRules = {
  limits: [],
  ...{ maxQueue: 10_000, maxQueuePerTenant: 10_000, arrivalMs: 25, timeoutMs: 1000, afterLoss: 'pace' },
  ...{ retryPerCall: 0, retryPerSecond: 0 },
}

/** A vendor that serves so many calls at a time, 50 ms each; the others wait in its queue. */
class Server {
  capacity = 20
  #busy = 0
  readonly #queue: (() => void)[] = []

  async serve(clock: ReturnType<typeof virtualClock>): Promise<void> {
    if (this.#busy < this.capacity) this.#busy += 1
    else await new Promise<void>((resolve) => this.#queue.push(resolve))
    await sleep(clock, 50)
    this.#busy -= 1
    // Calls that wait are served before new ones.
    while (this.#queue.length > 0 && this.#busy < this.capacity) {
      this.#busy += 1
      this.#queue.shift()!()
    }
  }
}

describe('adaptive concurrency', () => {
  test('follows a vendor whose capacity changes', async () => {
    const clock = virtualClock()
    const options = { port: memoryPort(clock), clock, owner: 'a', upstream: 'v', state: 'v', deadlineMs: 500 }
    const inner = new BookingClient({
      ...options,
      rules: () => rules,
      onStoreFailure: () => 'closed',
      replicas: undefined,
      onFailure: () => undefined,
      onSlowed: () => undefined,
    })
    const booker = new AdaptiveBooker({ inner, clock, upstream: 'v', bounds, maxQueue: () => 10_000 })
    const server = new Server()
    let isOver = false
    const booking = { tenant: '', weight: 1, priorityMs: 0, scope: '', units: {}, first: true, maxWaitMs: 1e6 }
    const worker = async (): Promise<void> => {
      while (!isOver) {
        const grant = await grantOf(booker, { ...booking, arrivedMs: clock.monotonic() })
        await server.serve(clock)
        grant.answer(clock.monotonic())
        grant.finish()
      }
    }
    for (let i = 0; i < 150; i++) void worker()
    const limits: number[] = []
    for (const capacity of [20, 5, 40]) {
      server.capacity = capacity
      await clock.advance(40_000)
      limits.push(booker.limit)
    }
    const late = grantOf(booker, { ...booking, maxWaitMs: 10, arrivedMs: clock.monotonic() }).catch((error) => error)
    await clock.advance(20)
    // About 100 calls are before it, which take 50 ms each.
    const { reason, retryAfterMs } = (await late) as RefusedError
    expect(reason).toBe('wait-too-long')
    expect(retryAfterMs).toBeGreaterThan(50)
    expect(retryAfterMs).toBeLessThan(1000)
    isOver = true
    const [wide, narrow, widest] = limits as [number, number, number]
    // It finds the order of magnitude, and the direction of every change.
    expect(wide).toBeGreaterThanOrEqual(15)
    expect(wide).toBeLessThanOrEqual(60)
    expect(narrow).toBeLessThan(wide)
    expect(narrow).toBeLessThanOrEqual(20)
    expect(widest).toBeGreaterThan(narrow)
  })

  test('is cut by refusals and timeouts, never below one', () => {
    let state = newGradient(bounds)
    for (let i = 0; i < 50; i++) state = afterRefusal(state, i % 2 === 0 ? 'limited' : 'timeout', bounds)
    expect(state.limit).toBe(1)
  })
})
