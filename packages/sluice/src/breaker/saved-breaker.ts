import type { Clock } from '../core/clock.ts'
import { invalidOption } from '../core/errors.ts'
import type { Circuit } from './circuit.ts'

/** The state of a breaker that is not closed, as plain JSON. By key in a set of breakers. */
export interface SavedBreaker {
  /** The breakers that are not closed, by key; a single breaker has its name as key. */
  readonly open: Readonly<Record<string, SavedState>>
}

export interface SavedState {
  /** Until when no call is admitted, in milliseconds since the epoch; null when it was isolated. */
  readonly until: number | null
  /** How often it opened in a row. */
  readonly openings: number
}

export function saveCircuit(circuit: Circuit, clock: Clock): SavedState | undefined {
  const saved = circuit.save(clock.monotonic())
  if (saved === undefined) return undefined
  const { openForMs, openings } = saved
  return { until: openForMs === Infinity ? null : clock.now() / 1000 + openForMs, openings }
}

export function loadCircuit(circuit: Circuit, { until, openings }: SavedState, clock: Clock): void {
  const openForMs = until === null ? Infinity : Math.max(0, until - clock.now() / 1000)
  circuit.load({ openForMs, openings }, clock.monotonic())
}

/** The states in what was saved, by key. What is not of this form is refused: it may be from anywhere. */
export function readSaved(saved: unknown, option: string): Map<string, SavedState> {
  const open = saved === undefined ? {} : (saved as Partial<SavedBreaker> | null)?.open
  const states = Object.entries((open ?? { '': undefined }) as SavedBreaker['open'])
  for (const [, state] of states) {
    const { until, openings } = (state ?? {}) as Partial<SavedState>
    if (!(until === null || Number.isFinite(until)) || !Number.isSafeInteger(openings))
      throw invalidOption(option, saved, 'pass what save() returned')
  }
  return new Map(states)
}
