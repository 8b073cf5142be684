import type { Clock } from '../../../core/clock.ts'
import { systemClock } from '../../../runtime/system-clock.ts'
import { type Instant, instantOf } from '../instant.ts'
import type { World } from './world.ts'

/**
 * How many milliseconds of its clocks pass in one of the simulation: a system clock takes one that is ahead by a second
 * for one that stepped, so suspended machines must sleep for seconds.
 */
const clockRate = 10
/** After this time without an answer a call is rejected. */
const deadlineMs = 60

/**
 * The environment of one simulated process: it pauses, sleeps and crashes, its clocks differ, and its calls get lost.
 */
export class SimulatedMachine {
  readonly #world: World
  readonly #clock: Clock
  #life = 0
  #pausedUntilMs = 0
  #lostMonotonicMs = 0
  #wallOffsetMs = 0

  constructor(world: World) {
    this.#world = world
    this.#clock = systemClock({
      wall: () => (world.nowMs + this.#wallOffsetMs) * clockRate,
      monotonic: () => (world.nowMs - this.#lostMonotonicMs) * clockRate,
    })
  }

  crash(): void {
    this.#life += 1
  }

  pause(forMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#world.nowMs + forMs)
  }

  /** The machine is suspended: nothing runs, and the monotonic clock stops. */
  suspend(forMs: number): void {
    if (this.#wallOffsetMs !== 0) return
    this.pause(forMs)
    this.#lostMonotonicMs += forMs
  }

  /**
   * Sets the wall clock. Set back by exactly the time that a suspended machine slept, it would hide the sleep: a
   * documented limit, so not both.
   */
  stepWallClock(byMs: number): void {
    if (this.#lostMonotonicMs === 0) this.#wallOffsetMs += byMs
  }

  instant(): Instant {
    const { monotonicMs, wallMs } = instantOf(this.#clock)
    const readMs = this.#world.mutation.provesByCoarseTime ? this.#clock.coarse!() / 1000 : wallMs
    return { monotonicMs: monotonicMs / clockRate, wallMs: readMs / clockRate }
  }

  /** Runs in this process, once it is not paused, and only if it has not crashed. */
  act(run: () => void, life: number = this.#life): void {
    if (life !== this.#life) return
    const pausedMs = this.#pausedUntilMs - this.#world.nowMs
    if (pausedMs > 0) this.#world.after(pausedMs, () => this.act(run, life))
    else run()
  }

  /** Acts later, unless the process has crashed by then. */
  whileAlive(): (run: () => void) => void {
    const life = this.#life
    return (run) => this.act(run, life)
  }

  /** A round trip to Redis: the request or the reply may be lost, or come after the deadline. */
  ask<T>(question: () => T, answer?: (reply: T) => void, rejected?: () => void): void {
    const world = this.#world
    const life = this.#life
    let isOver = false
    if (rejected !== undefined)
      world.after(deadlineMs, () =>
        this.act(() => {
          if (isOver) return
          isOver = true
          rejected()
        }, life),
      )
    if (world.random.chance(0.05)) return
    world.after(world.delay(), () => {
      const reply = question()
      if (answer === undefined || world.random.chance(0.05)) return
      world.after(world.delay(), () =>
        this.act(() => {
          if (isOver) return
          isOver = true
          answer(reply)
        }, life),
      )
    })
  }
}
