import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { BreakerState } from '../../breaker/circuit.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { type FileSystem, quietly, readWhole, replaceWhole } from '../files/file-system.ts'
import { nodeFiles } from '../files/node-files.ts'
import { breakerOf, defaultBackoff, waitMs } from './next.ts'
import { type Capacity, type FlushState, freshState } from './state.ts'

export const stateFileName = '.backpressure-state'

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0

/** A time as milliseconds or as text, as people and other programs write it. */
function time(value: unknown): number | null | undefined {
  if (value === null || value === undefined) return null
  const ms = typeof value === 'string' ? Date.parse(value) : value
  return typeof ms === 'number' && Number.isFinite(ms) && ms >= 0 ? ms : undefined
}

function capacity(value: unknown): Capacity | null {
  if (typeof value !== 'object' || value === null) return null
  const { ready, maxBatchSize, delayBetweenBatches, maxInFlight, retryAfter, loadPercent, message } =
    value as Partial<Capacity>
  if (typeof ready !== 'boolean' || !isCount(maxBatchSize) || !isCount(delayBetweenBatches)) return null
  const number = (given: unknown): number | null => (typeof given === 'number' && Number.isFinite(given) ? given : null)
  return {
    ready,
    maxBatchSize,
    delayBetweenBatches,
    maxInFlight: isCount(maxInFlight) ? maxInFlight : 1,
    retryAfter: number(retryAfter),
    loadPercent: number(loadPercent),
    message: typeof message === 'string' ? message : null,
  }
}

/** The state in a text; undefined when it is damaged. Unknown fields are ignored. */
export function parseState(text: string): FlushState | undefined {
  let raw: Partial<Record<keyof FlushState, unknown>>
  try {
    raw = JSON.parse(text) as typeof raw
  } catch {
    return undefined
  }
  if (typeof raw !== 'object' || raw === null || Array.isArray(raw)) return undefined
  const { backoffLevel, consecutiveFailures = 0, pendingEventCount = 0, consecutiveRefusals = 0 } = raw
  const [nextAttemptAfter, lastSuccessTime] = [time(raw.nextAttemptAfter), time(raw.lastSuccessTime)]
  if (!isCount(backoffLevel) || !isCount(consecutiveFailures) || !isCount(pendingEventCount)) return undefined
  if (!isCount(consecutiveRefusals)) return undefined
  if (nextAttemptAfter === undefined || lastSuccessTime === undefined) return undefined
  const [lastCapacity, waitingSince] = [capacity(raw.lastCapacity), time(raw.waitingSince)]
  return {
    ...{ backoffLevel, nextAttemptAfter, lastCapacity, consecutiveFailures, lastSuccessTime, pendingEventCount },
    ...(consecutiveRefusals === 0 ? {} : { consecutiveRefusals }),
    ...(typeof waitingSince === 'number' ? { waitingSince } : {}),
  }
}

/** `<dir>/.backpressure-state`: replaced as a whole. A damaged one is set aside and replaced by a safe default. */
export class StateFile {
  readonly #fs: FileSystem
  readonly #dir: string
  readonly #onDamaged: (savedAs: string) => void

  constructor(fs: FileSystem, dir: string, onDamaged: (savedAs: string) => void = () => {}) {
    this.#fs = fs
    this.#dir = dir
    this.#onDamaged = onDamaged
  }

  async load(): Promise<FlushState> {
    const path = join(this.#dir, stateFileName)
    const bytes = await readWhole(this.#fs, path).catch(() => undefined)
    if (bytes === undefined) return freshState
    const state = parseState(bytes.toString())
    if (state !== undefined) return state
    const aside = `${stateFileName}.damaged-${randomBytes(4).toString('hex')}`
    await quietly(this.#fs.rename(path, join(this.#dir, aside)))
    this.#onDamaged(aside)
    return freshState
  }

  async save(state: FlushState): Promise<void> {
    const temporary = join(this.#dir, `${stateFileName}.${randomBytes(6).toString('hex')}.tmp`)
    await replaceWhole(
      this.#fs,
      join(this.#dir, stateFileName),
      temporary,
      Buffer.from(`${JSON.stringify(state, undefined, 2)}\n`),
    )
  }
}

/** The state of a buffer, and what follows from it now by the default backoff. */
export interface BufferState extends FlushState {
  readonly breaker: BreakerState
  /** 0 when an attempt is due. */
  readonly nextAttemptInMs: number
  readonly maxBackoffLevel: number
}

/** The state of a buffer, without changing anything; the initial state if there is none, or it is damaged. */
export async function readState(
  dir: string,
  { fs = nodeFiles }: { readonly fs?: FileSystem } = {},
): Promise<BufferState> {
  const state = await storedState(dir, fs)
  const nowMs = Math.floor(systemClock().now() / 1000)
  return {
    ...state,
    breaker: breakerOf(state, nowMs, defaultBackoff),
    nextAttemptInMs: waitMs(state, nowMs, defaultBackoff),
    maxBackoffLevel: defaultBackoff.maxLevel,
  }
}

const startAgain = { backoffLevel: 0, consecutiveFailures: 0, nextAttemptAfter: null, waitingSince: undefined }

/**
 * Lets the next flush try at once: clears level, failures and the next attempt. A running shipper reads it with its
 * next pass. The refusals in a row stay: only a server that accepts an event again ends them.
 */
export async function resetState(dir: string, { fs = nodeFiles }: { readonly fs?: FileSystem } = {}): Promise<void> {
  const state = await storedState(dir, fs)
  await new StateFile(fs, dir).save({ ...state, ...startAgain })
}

async function storedState(dir: string, fs: FileSystem): Promise<FlushState> {
  return parseState((await readWhole(fs, join(dir, stateFileName)))?.toString() ?? '') ?? freshState
}
