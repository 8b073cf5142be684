import { expect, test } from 'vitest'
import { virtualClock } from '../testing/virtual-clock.ts'
import type { Breaker } from './breaker.ts'
import { createBreaker } from './create-breaker.ts'
import type { BreakerOptions } from './options.ts'

type Ending = 'success' | 'failure' | 'not-found' | 'abort'

interface ModelCall {
  readonly startMs: number
  /** Which state admitted it. */
  readonly epoch: number
}

/**
 * The required behaviour of a breaker, written as plainly as possible: it keeps every result and counts all each time.
 */
class Model {
  readonly options: BreakerOptions
  state: 'closed' | 'open' | 'half-open' = 'closed'
  epoch = 0
  openings = 0
  openedMs = 0
  probes: ModelCall[] = []
  probesSucceeded = 0
  results: { atMs: number; isFailure: boolean; isSlow: boolean }[] = []
  counts = { succeeded: 0, failed: 0, rejected: 0, cancelled: 0, late: 0, inFlight: 0 }

  constructor(options: BreakerOptions) {
    this.options = options
  }

  get cooldownMs(): number {
    const { cooldown = 60_000, maxCooldown = cooldown } = this.options
    return Math.min(Number(maxCooldown), Number(cooldown) * 2 ** (this.openings - 1))
  }

  become(state: Model['state']): void {
    this.state = state
    this.epoch += 1
    this.probes = []
    this.probesSucceeded = 0
    if (state === 'closed') {
      this.openings = 0
      this.results = []
    }
  }

  open(atMs: number): void {
    this.become('open')
    this.openings += 1
    this.openedMs = atMs
  }

  enter(nowMs: number): ModelCall | undefined {
    const { probes = 1, probeTimeout = 30_000 } = this.options
    const lost = this.probes.find(({ startMs }) => nowMs >= startMs + Number(probeTimeout))
    if (lost) this.open(lost.startMs + Number(probeTimeout))
    if (this.state === 'open' && nowMs >= this.openedMs + this.cooldownMs) this.become('half-open')
    const isFull = this.probes.length + this.probesSucceeded >= probes
    if (this.state === 'open' || (this.state === 'half-open' && isFull)) {
      this.counts.rejected += 1
      return undefined
    }
    const call = { startMs: nowMs, epoch: this.epoch }
    if (this.state === 'half-open') this.probes.push(call)
    this.counts.inFlight += 1
    return call
  }

  settle(call: ModelCall, ending: Ending, nowMs: number): void {
    const isLate = call.epoch !== this.epoch
    this.counts.inFlight -= 1
    this.counts[ending === 'failure' ? 'failed' : ending === 'abort' ? 'cancelled' : 'succeeded'] += 1
    if (isLate) this.counts.late += 1
    if (isLate) return
    const { slowCallRate, probes = 1 } = this.options
    const isFailure = ending === 'failure'
    const isSlow = nowMs - call.startMs >= Number(slowCallRate?.slow ?? Infinity)
    if (this.state === 'half-open') {
      this.probes = this.probes.filter((probe) => probe !== call)
      if (ending === 'abort') return
      this.probesSucceeded += 1
      if (isFailure || isSlow) this.open(nowMs)
      else if (this.probesSucceeded === probes) this.become('closed')
    } else if (ending !== 'abort') {
      this.results.push({ atMs: nowMs, isFailure, isSlow })
      if (this.shallOpen(nowMs)) this.open(nowMs)
    }
  }

  shallOpen(nowMs: number): boolean {
    const { failures, failureRate, slowCallRate } = this.options
    const isOver = (rate: BreakerOptions['failureRate'], which: 'isFailure' | 'isSlow'): boolean => {
      const { ratio = 0.5, window = 10_000, minCalls = 20 } = rate!
      const bucket = (ms: number): number => Math.floor(ms / (Number(window) / 10))
      const recent = this.results.filter(({ atMs }) => bucket(atMs) > bucket(nowMs) - 10)
      return recent.length >= minCalls && recent.filter((result) => result[which]).length / recent.length >= ratio
    }
    if (failureRate && isOver(failureRate, 'isFailure')) return true
    if (slowCallRate && isOver(slowCallRate, 'isSlow')) return true
    const isDefault = !failureRate && !slowCallRate
    const inARow = this.results.slice(-(failures ?? 5))
    return (
      (isDefault || failures !== undefined) &&
      inARow.length === (failures ?? 5) &&
      inARow.every(({ isFailure }) => isFailure)
    )
  }
}

/** The same numbers in every run, from 0 to 1. */
function numbers(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 2 ** 32
  }
}

const configurations: readonly BreakerOptions[] = [
  {},
  { failures: 2, cooldown: 100, maxCooldown: 1000 },
  { failures: 1, cooldown: 50, probes: 3, probeTimeout: 200 },
  { failureRate: { minCalls: 5, window: 1000 }, cooldown: 300, probeTimeout: 100 },
  { failureRate: { ratio: 0.1, minCalls: 10, window: 200 }, failures: 3, cooldown: 100 },
  { slowCallRate: { slow: 40, minCalls: 4, window: 500 }, cooldown: 200, probes: 2 },
  { failureRate: { minCalls: 3 }, slowCallRate: { slow: 100, minCalls: 3, ratio: 1 }, cooldown: 150 },
]

interface Flight {
  readonly call: ModelCall
  readonly end: (ending: Ending) => void
}

class NotFound extends Error {}

/** Starts a call that ends when the test decides. */
function start(breaker: Breaker, call: ModelCall): Flight {
  const own = new AbortController()
  let end: Flight['end'] = () => undefined
  const ended = breaker.run(
    () =>
      new Promise<string>((resolve, reject) => {
        end = (ending) => {
          if (ending === 'success') return resolve('value')
          if (ending === 'abort') own.abort()
          reject(ending === 'not-found' ? new NotFound() : new Error(ending))
        }
      }),
    { signal: own.signal },
  )
  ended.catch(() => undefined)
  return { call, end: (ending) => end(ending) }
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

test.each(configurations)('does the same as the model on 15,000 random steps: %j', async (options) => {
  const clock = virtualClock()
  const random = numbers(JSON.stringify(options).length * 7919)
  const pick = <T>(...from: readonly T[]): T => from[Math.floor(random() * from.length)]!
  const breaker = createBreaker({ ...options, clock, isFailure: (error) => !(error instanceof NotFound) })
  const model = new Model(options)
  const inFlight: Flight[] = []
  const seen = new Set<string>()
  // Phases with few failures and phases with many: with an even mix, no rate would ever be reached or left.
  let goodShare = 0.5
  for (let step = 0; step < 15_000; step++) {
    const nowMs = clock.monotonic()
    if (random() < 0.01) goodShare = pick(0, 0.2, 0.9, 1)
    const does = random()
    if (does < 0.4) {
      const call = model.enter(nowMs)
      if (call !== undefined) inFlight.push(start(breaker, call))
      else await expect(breaker.run(() => 'not called')).rejects.toMatchObject({ code: 'SLUICE_BREAKER_OPEN' })
    } else if (does < 0.8 && inFlight.length > 0) {
      const flight = inFlight.splice(Math.floor(random() * inFlight.length), 1)[0]!
      const ending = random() < goodShare ? pick<Ending>('success', 'success', 'not-found') : pick('failure', 'abort')
      model.settle(flight.call, ending, nowMs)
      flight.end(ending)
      await nextTurn()
    } else {
      // In most steps the clock does not move.
      clock.tick(pick(0, 0, 0, 1, 10, 60, 400, random() < 0.2 ? 70_000 : 5))
    }
    const { state, key: _, isolated: __, retryAfterMs, ...counts } = breaker.stats()
    expect({ step, state, ...counts }).toEqual({ step, state: model.state, ...model.counts })
    const leftMs = model.state === 'open' ? model.openedMs + model.cooldownMs - clock.monotonic() : 0
    expect(retryAfterMs).toBeCloseTo(Math.max(0, leftMs), 6)
    seen.add(state)
  }
  // A history that never opened would have shown nothing.
  expect([...seen].sort()).toEqual(['closed', 'half-open', 'open'])
  const { succeeded, failed, rejected, cancelled, late } = breaker.stats()
  for (const count of [succeeded, failed, rejected, cancelled, late]) expect(count).toBeGreaterThan(10)
})
