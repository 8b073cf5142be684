import { checkOptionNames, checkWhole } from '../core/check-options.ts'
import { SluiceError, show } from '../core/errors.ts'
import { Emitter } from '../core/observe/emitter.ts'
import { type CloseOptions, closeWithinMs, type Part, type PartHealth } from '../runtime/part.ts'
import { addProcessPart } from '../runtime/process-parts.ts'
import { Breaker } from './breaker.ts'
import type { BreakerState } from './circuit.ts'
import { type BreakerEvents, breakerEventNames } from './events.ts'
import {
  type BreakerOptions,
  breakerOptionNames,
  type ResolvedBreakerOptions,
  resolveBreakerOptions,
} from './options.ts'
import { readSaved, type SavedBreaker, type SavedState } from './saved-breaker.ts'
import { type BreakerCounts, type BreakerStats, breakerHealth, noCounts } from './stats.ts'

export interface BreakersOptions extends BreakerOptions {
  /** How many breakers are kept. Beyond that, a closed one that was not used recently is removed. 1000 by default. */
  readonly maxKeys?: number
}

interface Entry {
  readonly breaker: Breaker
  /** Used again since it was made, or since it got its second chance. */
  isRecent: boolean
}

/**
 * Makes a set of breakers, one for each key: a model, a host, a tenant.
 *
 * @example
 * const breakers = createBreakers({ name: 'models', failures: 5 })
 * const score = await breakers.for('model-a').run(() => callModel(input), { fallback: () => 0.5 })
 */
export function createBreakers(options: BreakersOptions = {}): Breakers {
  checkOptionNames('createBreakers', options, [...breakerOptionNames, 'maxKeys'])
  const { maxKeys = 1000 } = options
  checkWhole('createBreakers.maxKeys', maxKeys, 1, 'keys')
  const saved = readSaved(options.saved, 'createBreakers.saved')
  return new Breakers(resolveBreakerOptions(options, 'createBreakers'), maxKeys, saved)
}

/** How many breakers of a set are reported, those that are not closed first: a report has a bounded size. */
const mostReported = 100

/** Breakers by key, in bounded memory. */
export class Breakers implements Part<BreakerEvents> {
  readonly name: string
  readonly #options: ResolvedBreakerOptions
  readonly #maxKeys: number
  readonly #events = new Emitter<BreakerEvents>(breakerEventNames)
  readonly #totals = noCounts()
  readonly #closed = new Map<string, Entry>()
  /** Open and half-open ones are kept separately: removing one would let every caller through to what is failing. */
  readonly #tripped = new Map<string, Entry>()
  readonly #endReport: () => void
  #isClosed = false

  constructor(options: ResolvedBreakerOptions, maxKeys: number, saved: ReadonlyMap<string, SavedState>) {
    this.name = options.name
    this.#options = options
    this.#maxKeys = maxKeys
    // The registry is weak: the set is reported while somebody has it.
    this.#endReport = addProcessPart({
      kind: 'breaker',
      name: this.name,
      stats: () => this.stats().slice(0, mostReported),
      actions: { open: (key) => this.#known(key).isolate(), close: (key) => this.#known(key).restore() },
    })
    for (const [key, state] of saved) this.#add(key, state)
  }

  get size(): number {
    return this.#closed.size + this.#tripped.size
  }

  /** The breaker of this key. Call this for each use: a reference that is kept may have been removed here. */
  for(key: string): Breaker {
    const entry = this.#find(key)
    if (entry === undefined) return this.#add(key)
    entry.isRecent = true
    return entry.breaker
  }

  /** Calls back on every event of this kind of any breaker of the set, until the returned function is called. */
  on<Name extends keyof BreakerEvents>(name: Name, listener: (event: BreakerEvents[Name]) => void): () => void {
    return this.#events.on(name, listener)
  }

  /** Calls of all breakers that ever belonged to the set. */
  totals(): Readonly<BreakerCounts> {
    return { ...this.#totals }
  }

  /** Each breaker of the set; those that are not closed come first. */
  stats(): BreakerStats[] {
    return [...this.#tripped.values(), ...this.#closed.values()].map(({ breaker }) => breaker.stats())
  }

  /** The states of those that are not closed as plain JSON, for `saved` of a later set. */
  save(): SavedBreaker {
    return { open: Object.assign({}, ...[...this.#tripped.values()].map(({ breaker }) => breaker.save().open)) }
  }

  /** Always ready until it is closed: open breakers do their work, and are warnings. */
  async health(): Promise<PartHealth> {
    return breakerHealth(this.stats(), this.#isClosed ? this.#closedText : undefined)
  }

  /** Refuses calls from now on. Those in flight go on; `within` is how long to wait for them, not at all by default. */
  async close(options: CloseOptions = {}): Promise<void> {
    closeWithinMs('breakers.close', options)
    this.#isClosed = true
    this.#endReport()
    const entries = [...this.#tripped.values(), ...this.#closed.values()]
    await Promise.all(entries.map(({ breaker }) => breaker.close(options)))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  get #closedText(): string {
    return `The breakers ${JSON.stringify(this.name)} were closed for good`
  }

  #find(key: string): Entry | undefined {
    return this.#closed.get(key) ?? this.#tripped.get(key)
  }

  /** For operators: it makes none and counts as no use. */
  #known(key = ''): Breaker {
    const entry = this.#find(key)
    if (entry === undefined) throw new SluiceError('SLUICE_INVALID_KEY', 'There is no such breaker.')
    return entry.breaker
  }

  #add(key: string, saved?: SavedState): Breaker {
    if (this.#isClosed) {
      throw new SluiceError('SLUICE_CLOSED', `${this.#closedText}; make new ones with createBreakers.`)
    }
    if (typeof key !== 'string' || key === '') {
      throw new SluiceError('SLUICE_INVALID_KEY', `The key of a breaker is ${show(key)}; use a text that is not empty.`)
    }
    if (this.size >= this.#maxKeys) this.#forgetOne()
    let entry: Entry | undefined
    const breaker = new Breaker(key, {
      options: this.#options,
      events: this.#events,
      totals: this.#totals,
      saved,
      onChange: (state) => entry && this.#move(key, entry, state),
    })
    // Keys that are used only once are removed first.
    entry = { breaker, isRecent: false }
    ;(saved === undefined ? this.#closed : this.#tripped).set(key, entry)
    return entry.breaker
  }

  #move(key: string, entry: Entry, state: BreakerState): void {
    const [from, to] = state === 'closed' ? [this.#tripped, this.#closed] : [this.#closed, this.#tripped]
    // A removed one that is still in use elsewhere stays removed.
    if (from.get(key) !== entry) return
    from.delete(key)
    to.set(key, entry)
  }

  /**
   * Takes the oldest that was not used since the last check; those that were get a second chance at the end of the
   * queue.
   */
  #forgetOne(): void {
    const candidates = this.#closed.size > 0 ? this.#closed : this.#tripped
    let chances = 2 * candidates.size
    for (const [key, entry] of candidates) {
      candidates.delete(key)
      chances -= 1
      // What somebody isolated goes last: removed, it would admit calls again.
      if (chances <= 0 || (!entry.isRecent && !entry.breaker.stats().isolated)) return
      entry.isRecent = false
      candidates.set(key, entry)
    }
  }
}
