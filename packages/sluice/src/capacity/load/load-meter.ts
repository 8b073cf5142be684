import { getHeapStatistics } from 'node:v8'
import type { Clock } from '../../core/clock.ts'
import { every } from '../../runtime/every.ts'
import { cpuUtilisation } from './cgroup-cpu.ts'
import { eventLoopDelay } from './event-loop-delay.ts'
import { requestWait } from './request-wait.ts'
import { delayPoints, heapPoints, inFlightPoints, type Point, scale, smooth, utilisationPoints } from './scale.ts'

/** One signal that shows how loaded a process is. */
export interface Signal {
  /** For display: `event loop delay`. */
  readonly name: string
  readonly unit: string
  readonly points: readonly Point[]
  read(): number
}

/** How loaded the process is, and which signal shows it. */
export interface Load {
  /** 0 to 100, smoothed: up fast, down slowly. */
  readonly percent: number
  /** The highest signal of the last sample, before smoothing. */
  readonly rawPercent: number
  /** The signal that the load came from, as text: `event loop delay 84 ms`. */
  readonly cause: string
}

/** How often signals are read. Short enough to shed early, long enough for a percentile to be meaningful. */
export const sampleMs = 250

/** The load of a measure that fails: unknown, so neither idle nor overloaded. */
const unknownPercent = 50

/** Reads all signals a few times per second and keeps the highest. */
export class LoadMeter {
  readonly stop: () => void
  readonly #clock: Clock
  readonly #signals: readonly Signal[]
  readonly #onSample: (load: Load) => void
  #load: Load = { percent: 0, rawPercent: 0, cause: 'idle' }
  #sampledMs: number

  constructor(clock: Clock, signals: readonly Signal[], onSample: (load: Load) => void) {
    this.#clock = clock
    this.#signals = signals
    this.#onSample = onSample
    this.#sampledMs = clock.monotonic()
    this.stop = every(sampleMs, clock, () => this.#sample())
  }

  get load(): Load {
    return this.#load
  }

  #sample(): void {
    const nowMs = this.#clock.monotonic()
    let highest = { rawPercent: 0, cause: 'idle' }
    for (const { name, unit, points, read } of this.#signals) {
      const reading = readSafely(read)
      const rawPercent = reading === undefined ? unknownPercent : scale(reading, points)
      const cause = reading === undefined ? `${name} cannot be read` : `${name} ${round(reading)}${unit}`
      if (rawPercent > highest.rawPercent) highest = { rawPercent, cause }
    }
    const percent = smooth(this.#load.percent, highest.rawPercent, nowMs - this.#sampledMs)
    this.#sampledMs = nowMs
    this.#load = { percent, ...highest }
    this.#onSample(this.#load)
  }
}

/** The signals that show the load of this process. */
interface ProcessSignals {
  readonly signals: readonly Signal[]
  /** How long the request that is being decided on has waited, in milliseconds. */
  waitedMs(): number
  stop(): void
}

/** The signals of this process: event loop, connections that wait, processors, heap. */
export function processSignals(clock: Clock): ProcessSignals {
  const loop = eventLoopDelay()
  const wait = requestWait(clock)
  const utilisation = cpuUtilisation(() => clock.monotonic())
  return {
    signals: [
      { name: 'event loop delay', unit: ' ms', points: delayPoints, read: loop.read },
      { name: 'wait to be accepted', unit: ' ms', points: delayPoints, read: wait.ofConnections },
      { name: 'processor use', unit: '', points: utilisationPoints, read: utilisation },
      { name: 'heap use', unit: '', points: heapPoints, read: heapShare },
    ],
    waitedMs: wait.ofRequest,
    stop() {
      loop.stop()
      wait.stop()
    },
  }
}

/** Requests in flight against the most that there should be. */
export function inFlightSignal(most: number, inFlight: () => number): Signal {
  return {
    name: 'requests in flight',
    unit: ` of ${most}`,
    points: [...inFlightPoints.map(([share, load]) => [share * most, load] as const)],
    read: inFlight,
  }
}

/** How long work waits before it begins, such as for a connection of a pool. */
export function waitingSignal(waitingMs: () => number): Signal {
  return { name: 'waiting time', unit: ' ms', points: delayPoints, read: waitingMs }
}

/** A load that the service computes itself. */
export function ownSignal(load: () => number): Signal {
  return { name: 'own measure', unit: '%', points: [[100, 100]], read: load }
}

function heapShare(): number {
  const { used_heap_size: used, heap_size_limit: limit } = getHeapStatistics()
  return used / limit
}

/** A user's measure that throws or is not a number must not stop all others. */
function readSafely(read: () => number): number | undefined {
  try {
    const reading: unknown = read()
    return typeof reading === 'number' && !Number.isNaN(reading) ? reading : undefined
  } catch {
    return undefined
  }
}

function round(reading: number): number {
  return reading >= 10 ? Math.round(reading) : Math.round(reading * 100) / 100
}
