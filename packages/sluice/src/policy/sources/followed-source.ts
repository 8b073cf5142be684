import type { Clock, Timer } from '../../core/clock.ts'
import { invalidOption, SluiceError } from '../../core/errors.ts'
import { sha256 } from '../../core/sha256.ts'
import { backgroundClock } from '../../runtime/background-clock.ts'
import { Reachability } from '../../runtime/reachability.ts'
import { longestTimerMs, systemClock } from '../../runtime/system-clock.ts'
import type { PolicySource, SourcedDocument, SourceListener } from '../live/source.ts'

/** What one look at a place of storage found. */
export interface Reading extends SourcedDocument {
  /** The document as text: the same text is not delivered twice in a row. */
  readonly text: string
  /** Makes it cheap to find, at the next read, that nothing has changed. */
  readonly stamp?: string
}

/** Notifications that a storage sends. */
export interface Push {
  /**
   * Something may have changed. Also called whenever pushing has begun, or begun again, as earlier changes were
   * missed.
   */
  changed(): void
  /** Pushing has ended and should be started again. */
  broken(): void
  /** Pushing is not available here; only polling is used. */
  unavailable(): void
}

/** How a source follows one kind of storage. */
export interface Feed {
  readonly description: string
  /** The service whose document was asked for, where the storage keeps several. */
  readonly service?: string
  readonly pollMs: number
  /** Looks at the document. `stamp` is that of the last reading; answers `'unchanged'` when it still holds. */
  read(stamp: string | undefined): Promise<Reading | 'unchanged'>
  /** Begins to push, where that can be done, and returns how to end it. Calls nothing before it has returned. */
  subscribe?(push: Push): () => unknown
  /** Frees what reading has opened; called last, once the source is closed. */
  close?(): unknown
  /** How long to gather pushes before looking. */
  readonly settleMs?: number
  readonly timeoutMs?: number
  readonly random?: () => number
  readonly clock?: Clock
}

/** Thrown by a read that found no policy; its name distinguishes it from a failed read. */
export function noDocument(): Error {
  return Object.assign(new Error('there is no document'), { name: 'NoDocument' })
}

/** A read that hangs is repeated only after this, so that reads do not pile up while the server is gone. */
const abandonMs = 60_000

/** Makes a source of a feed: polls it with jitter, follows its pushes, and retries while it is down. */
export function followedSource(feed: Feed): PolicySource {
  for (const option of ['pollMs', 'timeoutMs'] as const) {
    const ms = feed[option] ?? 1
    if (!(ms >= 1 && ms <= longestTimerMs)) throw invalidOption(option.slice(0, -2), ms, 'use 1 ms to 24 days')
  }
  return new FollowedSource(feed)
}

class FollowedSource implements PolicySource {
  readonly description: string
  readonly service?: string
  readonly #feed: Feed
  readonly #random: () => number
  readonly #clock: Clock
  readonly #background: Clock
  readonly #reading: Reachability
  readonly #pushing: Reachability
  #giveUp: ((why: string) => void) | undefined
  #isClosed = false
  #listener: SourceListener | undefined
  #stamp: string | undefined
  #delivered: string | undefined
  /** The reason of the outage that lasts; undefined while the source can be read. */
  #outage: string | undefined
  #timer: Timer | undefined
  #settleTimer: Timer | undefined
  #looking = false
  #lookAgain = false
  #outstanding: { readonly reading: Promise<Reading | 'unchanged'>; readonly sinceMs: number } | undefined
  #unsubscribe: (() => unknown) | undefined

  constructor(feed: Feed) {
    this.description = feed.description
    if (feed.service !== undefined) this.service = feed.service
    this.#feed = feed
    this.#random = feed.random ?? Math.random
    this.#clock = feed.clock ?? systemClock()
    this.#background = backgroundClock(this.#clock)
    const following = { clock: this.#background, random: this.#random }
    this.#reading = new Reachability({ ...following, probe: () => void this.#look() })
    this.#pushing = new Reachability({ ...following, probe: () => this.#subscribe() })
  }

  async start(listener: SourceListener): Promise<SourcedDocument> {
    if (this.#listener !== undefined) throw new SluiceError('SLUICE_WRONG_USE', `${this.description} is in use already`)
    if (this.#isClosed) throw new SluiceError('SLUICE_CLOSED', `${this.description} is closed`)
    this.#listener = listener
    this.#looking = true
    try {
      const reading = await this.#read()
      // Nothing is known yet, so nothing can be unchanged.
      return this.#take(reading as Reading) as SourcedDocument
    } catch (error) {
      this.#reading.failed()
      this.#outage = (error as Error).message
      throw error
    } finally {
      this.#looking = false
      this.#schedule()
      this.#subscribe()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#giveUp?.('it was closed')
    for (const timer of [this.#timer, this.#settleTimer]) this.#clock.clearTimeout(timer)
    for (const each of [this.#reading, this.#pushing]) each.close()
    await this.#endPush()
    await this.#feed.close?.()
  }

  /** Reads the document now; when a read is in flight, again after it. */
  async #look(): Promise<void> {
    if (this.#looking) this.#lookAgain = true
    if (this.#looking || this.#isClosed) return
    this.#looking = true
    this.#clock.clearTimeout(this.#timer)
    do {
      this.#lookAgain = false
      try {
        const reading = await this.#read()
        if (this.#isClosed) return
        if (this.#reading.answered()) {
          this.#outage = undefined
          this.#listener?.recovered()
        }
        const changed = reading === 'unchanged' ? undefined : this.#take(reading)
        if (changed !== undefined && this.#listener?.changed(changed) === false) this.#forget()
      } catch (error) {
        if (this.#isClosed) return
        this.#failed(error as Error)
        break
      }
    } while (this.#lookAgain)
    this.#looking = false
    this.#schedule()
  }

  /** Remembers a reading, and hands it on if its text is new. */
  #take(reading: Reading): SourcedDocument | undefined {
    this.#stamp = reading.stamp
    const hash = sha256(reading.text)
    if (hash === this.#delivered) return undefined
    this.#delivered = hash
    return { document: reading.document, revision: reading.revision }
  }

  /** The last reading was not taken: the next one is delivered, even if it finds the same. */
  #forget(): void {
    this.#stamp = undefined
    this.#delivered = undefined
  }

  #failed(error: Error): void {
    this.#reading.failed()
    if ((error.cause as Error | undefined)?.name === 'NoDocument') {
      this.#listener?.emptied?.()
      this.#forget()
    }
    if (this.#outage === error.message) return
    this.#outage = error.message
    this.#listener?.failed(error)
  }

  #schedule(): void {
    if (this.#isClosed || this.#reading.isDown) return
    this.#clock.clearTimeout(this.#timer)
    // Jitter shortens: a change is seen within one poll.
    const pauseMs = this.#feed.pollMs * (0.8 + 0.2 * this.#random())
    this.#timer = this.#background.setTimeout(() => void this.#look(), pauseMs)
  }

  async #read(): Promise<Reading | 'unchanged'> {
    const { timeoutMs = 5000 } = this.#feed
    if (this.#outstanding !== undefined && this.#clock.monotonic() - this.#outstanding.sinceMs < abandonMs) {
      // Its answer may be old by now.
      this.#lookAgain = true
    } else {
      const reading = this.#feed.read(this.#stamp)
      const settled = (): void => {
        if (this.#outstanding?.reading === reading) this.#outstanding = undefined
      }
      this.#outstanding = { reading, sinceMs: this.#clock.monotonic() }
      reading.then(() => {
        settled()
        // A late answer: the storage is back.
        if (!this.#looking) void this.#look()
      }, settled)
    }
    let timer: Timer | undefined
    try {
      return await new Promise((resolve, reject) => {
        this.#giveUp = (why) => reject(new Error(why))
        timer = this.#clock.setTimeout(() => this.#giveUp!(`no answer within ${timeoutMs} ms`), timeoutMs)
        this.#outstanding!.reading.then(resolve, reject)
      })
    } catch (cause) {
      const why = cause instanceof Error ? cause.message || cause.name : String(cause)
      const message = `the policy could not be read from ${this.description}: ${why}`
      throw new SluiceError('SLUICE_SOURCE_FAILED', message, { cause, transient: true })
    } finally {
      this.#clock.clearTimeout(timer)
    }
  }

  #subscribe(): void {
    if (this.#isClosed || this.#feed.subscribe === undefined) return
    let over = false
    const end = (): void => {
      over = true
      void this.#endPush()
    }
    this.#unsubscribe = this.#feed.subscribe({
      changed: () => {
        if (over || this.#isClosed) return
        this.#pushing.answered()
        this.#gather()
      },
      broken: () => {
        if (over || this.#isClosed) return
        end()
        this.#pushing.failed()
        // A read shows whether the storage is gone or only its pushes.
        void this.#look()
      },
      unavailable: end,
    })
  }

  #gather(): void {
    const { settleMs } = this.#feed
    if (settleMs === undefined) void this.#look()
    else {
      this.#settleTimer ??= this.#background.setTimeout(() => {
        this.#settleTimer = undefined
        void this.#look()
      }, settleMs)
    }
  }

  async #endPush(): Promise<void> {
    const end = this.#unsubscribe
    this.#unsubscribe = undefined
    try {
      await end?.()
    } catch {
      // It is gone either way.
    }
  }
}
