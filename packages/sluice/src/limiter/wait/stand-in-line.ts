import type { Clock } from '../../core/clock.ts'
import { every } from '../../runtime/every.ts'
import type { WaitLine, Waits } from '../../stores/store.ts'
import { unitsOf, type Waiter } from './waiter.ts'

/** For how long a process that was killed is still left its units, and how often a living one renews that. */
const entryMs = 5000
const beatMs = 2000

interface LineOwner {
  readonly process: string
  readonly deadlineMs: number
  readonly clock: Clock
}

/**
 * What the queue of one process knows of those in other processes. Of each only the first, second, fourth, eighth ...
 * waiter is known: enough that nobody waits for more than twice those that came before, in a few numbers.
 */
export class StandInLine {
  readonly #key: string
  readonly #line: WaitLine
  readonly #waiters: ReadonlySet<Waiter>
  readonly #owner: LineOwner
  #stopRenewing: (() => void) | undefined
  #others: readonly (readonly { readonly units: number; readonly sinceMs: number }[])[] = []
  /** When this process last said who waits here; undefined when nobody does. */
  #stoodMs: number | undefined

  constructor(key: string, line: WaitLine, waiters: ReadonlySet<Waiter>, owner: LineOwner) {
    this.#key = key
    this.#line = line
    this.#waiters = waiters
    this.#owner = owner
  }

  get unitsOfOthers(): number {
    return this.#others.reduce((sum, waits) => sum + (waits.at(-1)?.units ?? 0), 0)
  }

  /** Units that others wait for since before that, at least. */
  olderUnits(sinceMs: number): number {
    return this.#others.reduce((sum, waits) => sum + (waits.findLast((each) => each.sinceMs < sinceMs)?.units ?? 0), 0)
  }

  /**
   * Whether nobody else came before one of these that others know of. That stays so: whoever came since is younger.
   */
  isFirst({ sinceMs }: Waiter): boolean {
    return this.#stoodMs !== undefined && sinceMs <= this.#stoodMs && this.olderUnits(sinceMs) === 0
  }

  /** Says who waits, and learns of the others. */
  async stand(): Promise<void> {
    this.#stopRenewing ??= every(beatMs, this.#owner.clock, () => this.changed())
    await this.#say()
  }

  /** Those that wait have become fewer, or the entry has to be renewed. */
  changed(): void {
    if (this.#stoodMs !== undefined && this.#waiters.size > 0) void this.#say()
  }

  async leave(): Promise<void> {
    this.#stopRenewing?.()
    this.#stopRenewing = undefined
    if (this.#stoodMs === undefined) return
    this.#stoodMs = undefined
    await this.#send([])
  }

  async #say(): Promise<void> {
    const nowMs = this.#owner.clock.monotonic()
    const waits: Waits[] = []
    let [units, count, next] = [0, 0, 1]
    for (const waiter of this.#waiters) {
      units += unitsOf(waiter)
      count += 1
      if (count < next && count < this.#waiters.size) continue
      waits.push({ units, forUs: (nowMs - waiter.sinceMs) * 1000 })
      next *= 2
    }
    this.#stoodMs = nowMs
    await this.#send(waits)
  }

  /** Without the store there is no order between processes, as there is no common count either. */
  async #send(waits: readonly Waits[]): Promise<void> {
    const { process, deadlineMs, clock } = this.#owner
    try {
      const others = await this.#line.stand(this.#key, process, waits, entryMs, deadlineMs)
      const nowMs = clock.monotonic()
      this.#others = others.map((each) => each.map(({ units, forUs }) => ({ units, sinceMs: nowMs - forUs / 1000 })))
    } catch {
      this.#others = []
    }
  }
}
