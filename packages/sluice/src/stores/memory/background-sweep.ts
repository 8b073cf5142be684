import type { Clock, Timer, TimeSource } from '../../core/clock.ts'
import { sweep } from './sweep.ts'
import type { Table } from './table.ts'

/**
 * How often, and how many rows at a time, expired subjects are looked for; a million rows take less than half a
 * minute.
 */
const everyMs = 500
const slotsAtOnce = 20_000

const nobody: ReadonlySet<string> = new Set()

/**
 * Forgets expired subjects bit by bit, so that an idle store becomes empty too. A clock without timers has
 * no such thing.
 */
export class BackgroundSweep {
  readonly #clock: TimeSource & Partial<Clock>
  readonly #tables: ReadonlyMap<string, readonly Table[]>
  /** Called with the number of subjects that were removed; returns whether any are left. */
  readonly #forgot: (subjects: number) => boolean
  #timer: Timer | undefined
  #next = 0

  constructor(
    clock: TimeSource & Partial<Clock>,
    tables: ReadonlyMap<string, readonly Table[]>,
    forgot: (subjects: number) => boolean,
  ) {
    this.#clock = clock
    this.#tables = tables
    this.#forgot = forgot
  }

  /** To be called when there is something to forget some day. */
  start(): void {
    if (this.#timer !== undefined) return
    this.#timer = this.#clock.setTimeout?.(this.#sweep, everyMs)
    this.#timer?.unref?.()
  }

  stop(): void {
    this.#clock.clearTimeout?.(this.#timer)
  }

  readonly #sweep = (): void => {
    this.#timer = undefined
    const now = this.#clock.now()
    const tables = [...this.#tables.values()].flat()
    let left = slotsAtOnce
    let forgotten = 0
    for (let t = 0; t < tables.length && left > 0; t++) {
      const table = tables[this.#next++ % tables.length]!
      const looked = Math.min(table.rows, left)
      forgotten += sweep(table, now, looked, nobody)
      table.shrink()
      left -= looked
    }
    if (this.#forgot(forgotten)) this.start()
  }
}
