import { type Instant, passedMs } from '../instant.ts'
import { InvalidationView, type Validity, type ViewLimits } from '../invalidation-view.ts'
import type { Bumped, Invalidation, LogReply } from '../messages.ts'
import { stays } from '../newer.ts'
import { SimulatedMachine } from './machine.ts'
import { readCopies, readOrLock, type SetStep, storeFetched, takeKey } from './redis-model.ts'
import { runSet } from './set-steps.ts'
import { type Copy, scopesOf, simulatedProofMs, type World } from './world.ts'

interface Entry extends Copy {
  readonly epoch: number
}

/** A fetch in flight. */
interface Flight {
  readonly key: string
  /** Set by an invalidation that is in no log. */
  invalidated: boolean
}

/** An answer to a reader, and what the process knew at that time. */
export interface Answered {
  readonly key: string
  readonly version: number
  readonly stale: boolean
}

/** Observations of a process, to be checked. */
export interface Watcher {
  answered(answer: Answered): void
  /** An older copy replaced a newer one in the first level. */
  wentBack(key: string, from: Copy, to: Copy): void
}

/** How an invalidation ended. */
export interface Ending {
  /** A strict one is acknowledged when this time has passed. */
  done(longestProofMs: number): void
  rejected?(): void
}

type Publish = (message: Invalidation) => void

const isYoung = (beganAt: Instant, now: Instant): boolean =>
  passedMs(beganAt, now.monotonicMs, now.wallMs) < simulatedProofMs

/** One process: reads, fetches, sets and invalidates by the protocol. */
export class SimulatedProcess {
  readonly machine: SimulatedMachine
  readonly #world: World
  readonly #watcher: Watcher
  readonly #limits: ViewLimits
  #view: InvalidationView
  #entries = new Map<string, Entry>()
  #flights = new Set<Flight>()
  /** Invalidations that were rejected, until Redis has them. */
  #unsent = new Map<string, Publish>()
  #server = 0

  constructor(world: World, watcher: Watcher, proofMs: number) {
    this.#world = world
    this.#limits = { maxScopes: 2, maxKeys: 1, proofMs }
    this.#watcher = watcher
    this.machine = new SimulatedMachine(world)
    this.#view = this.#newView()
  }

  get view(): InvalidationView {
    return this.#view
  }

  /** Loses all memory, as a killed and restarted process does. Calls in flight never settle. */
  crash(): void {
    this.machine.crash()
    this.#entries.clear()
    this.#flights.clear()
    this.#unsent.clear()
    this.#view = this.#newView()
  }

  receive(message: Invalidation): void {
    this.machine.act(() => this.#take(message))
  }

  sync(): void {
    const askedAt = this.machine.instant()
    const position = this.#view.position
    this.machine.ask(
      () => ({
        reply: this.#world.log.sync(position, this.#limits.proofMs, this.#world.nowMs),
        server: this.#world.log.runId,
      }),
      ({ reply, server }: { reply: LogReply; server: number }) => {
        const at = this.#world.mutation.datesProofByReply ? this.machine.instant() : askedAt
        const isApplied = this.#view.synchronize(reply, at)
        if (isApplied && reply.isLast) this.#server = server
        for (const [scope, sequence] of reply.changes) this.#dropKey(scope, { ...reply, sequence })
        if (isApplied && !reply.isLast) this.sync()
        for (const [scope, publish] of this.#unsent) this.#send(scope, publish, { done: () => undefined })
      },
    )
  }

  /** As `getOrFetch` does. */
  read(key: string): void {
    this.machine.act(() => {
      const entry = this.#entries.get(key)
      if (entry !== undefined && this.#answer(key, entry, Infinity)) return
      const sentAt = this.#view.position
      const sentMs = this.#world.nowMs
      this.machine.ask(
        () => readOrLock(this.#world, key, sentMs),
        ({ copy, token, server, ranMs }) => {
          if (copy !== undefined) this.#takeCopy(key, copy, sentAt, server, sentMs, ranMs)
          else if (token !== undefined && this.#isTrusted(server)) this.#fetch(key, token, 3)
        },
      )
    })
  }

  /** As `getMany` does; `get` is the same with one key. Never fetches. */
  readMany(keys: readonly string[]): void {
    this.machine.act(() => {
      const missing = keys.filter((key) => {
        const entry = this.#entries.get(key)
        return entry === undefined || !this.#answer(key, entry, Infinity)
      })
      if (missing.length === 0) return
      const sentAt = this.#view.position
      const sentMs = this.#world.nowMs
      this.machine.ask(
        () => readCopies(this.#world, missing, sentMs),
        ({ copies, server, ranMs }) =>
          missing.forEach((key, index) => {
            const copy = copies[index]
            if (copy !== undefined) this.#takeCopy(key, copy, sentAt, server, sentMs, ranMs)
          }),
      )
    })
  }

  /** Sends an invalidation; `ending` is called as the promise of `invalidate` would settle. */
  invalidate(scope: string, publish: Publish, ending: Ending): void {
    this.machine.act(() =>
      this.#send(scope, publish, {
        done: ending.done,
        rejected: () => {
          // Redis may have executed it nevertheless. This process applies it now in any case.
          this.#actOn(scope, publish)
          ending.rejected?.()
        },
      }),
    )
  }

  /** Applies an invalidation that the view does not have. */
  #actOn(scope: string, publish: Publish): void {
    const covers = (key: string): boolean => scope === `k:${key}` || scopesOf(key).includes(scope)
    for (const key of [...this.#entries.keys()]) if (covers(key)) this.#entries.delete(key)
    for (const flight of this.#flights) if (covers(flight.key) || scope.startsWith('t:')) flight.invalidated = true
    if (!this.#world.mutation.forgetsRejected) this.#unsent.set(scope, publish)
  }

  /**
   * As a producer does: writes a value for all to read. `announce` publishes the message and returns the version, which
   * thereby comes after all that were invalidated before.
   */
  set(
    key: string,
    announce: (message: Invalidation) => number,
    done: (version: number, longestProofMs: number) => void,
  ): void {
    const world = this.#world
    const kept = ({ message, version, id }: SetStep): void => {
      this.#take(message)
      const { generation, sequence } = message
      const copy = { version, generation, sequence, id, madeAtMs: world.nowMs }
      if (!this.#isUnsent(key)) this.#keep(key, copy, undefined, world.mutation.trustsSets)
      done(version, message.longestProofMs)
    }
    this.machine.act(() => runSet(world, this.machine, key, announce, kept))
  }

  #send(scope: string, publish: Publish, { done, rejected }: Ending): void {
    const world = this.#world
    const sent = (message: Bumped): void => {
      this.#take(message)
      // What was rejected since this was sent must still be sent.
      if (this.#unsent.get(scope) === publish) this.#unsent.delete(scope)
      // The log is not the one that the view knows, and may be lost again before the view knows it: send it again.
      if (message.generation !== this.#view.generation) this.#actOn(scope, publish)
      done(message.longestProofMs)
    }
    if (scope.startsWith('k:') && world.isCluster)
      this.machine.ask(
        () => takeKey(world, scope.slice(2)),
        () => this.machine.ask(() => noted(world.log.bump([scope], world.nowMs), publish), sent, rejected),
        rejected,
      )
    else {
      const bump = (): Bumped => {
        if (scope.startsWith('k:')) takeKey(world, scope.slice(2))
        return noted(world.log.bump([scope], world.nowMs), publish)
      }
      this.machine.ask(bump, sent, rejected)
    }
  }

  #take(message: Invalidation): void {
    const received = this.#view.receive(message)
    if (received !== 'duplicate') for (const scope of message.scopes) this.#dropKey(scope, message)
    if (received === 'gap') this.sync()
  }

  /** Only the server that last answered about invalidations is trusted; a new one must answer about them first. */
  #isTrusted(server: number): boolean {
    return server === this.#server || this.#world.mutation.trustsAnyServer === true
  }

  #isUnsent(key: string): boolean {
    return this.#unsent.size > 0 && [`k:${key}`, ...scopesOf(key)].some((scope) => this.#unsent.has(scope))
  }

  /** Applies what Redis answered. The age of a copy, by the clock of Redis at `ranMs`, counts from the request. */
  #takeCopy(
    key: string,
    copy: Copy,
    sentAt: InvalidationView['position'],
    server: number,
    sentMs: number,
    ranMs: number,
  ): void {
    if (!this.#isTrusted(server) || this.#isUnsent(key)) return
    const from = sentAt?.generation === this.#view.generation ? (sentAt?.sequence ?? 0) : 0
    const { mutation } = this.#world
    const present = this.#entries.get(key)
    const read = { ...copy, madeAtMs: sentMs - Math.max(0, ranMs - copy.madeAtMs) }
    const validity = this.#judge(key, read, from, mutation.trustsReads)
    const held = present && this.#validityOf(key, present)
    if (present && held && !mutation.keepsWhatItRead && stays(present, held, read, validity)) {
      this.#answer(key, present, Infinity)
      return
    }
    // Only pairs with a known order can be compared: one was stored in Redis before the other was made.
    if (present && held === 'valid' && validity === 'valid' && present.madeAtMs > copy.madeAtMs && present.id === 0)
      this.#watcher.wentBack(key, present, copy)
    if (this.#keep(key, read, from, mutation.trustsReads)) this.#answer(key, read, from, true)
  }

  #fetch(key: string, token: number, attempts: number): void {
    const world = this.#world
    const before = this.#view.position
    const beganAt = this.machine.instant()
    const flight: Flight = { key, invalidated: false }
    this.#flights.add(flight)
    const ended = (version: number): void => {
      this.#flights.delete(flight)
      const at = world.mutation.stampsAtEnd ? this.#view.position : before
      const stamp = { generation: at?.generation, sequence: at?.sequence ?? 0 }
      const copy: Copy = { version, ...stamp, id: 0, madeAtMs: world.nowMs }
      const isKept = !flight.invalidated && this.#keep(key, copy, undefined, world.mutation.trustsFlights)
      if (!isKept) {
        if (attempts > 1) this.#fetch(key, token, attempts - 1)
        return
      }
      this.machine.ask(
        () => storeFetched(world, key, copy, token),
        (id) => {
          const entry = this.#entries.get(key)
          if (entry?.version === version && entry.id === 0) this.#entries.set(key, { ...entry, id })
        },
      )
      this.#answer(key, copy, undefined, false, world.mutation.datesFetchByEnd ? this.machine.instant() : beganAt)
    }
    const inThisLife = this.machine.whileAlive()
    world.after(world.delay(), () => {
      const version = world.database.get(key)!
      world.after(world.delay(), () => inThisLife(() => ended(version)))
    })
  }

  #judge(key: string, copy: Copy, watchedFrom: number | undefined, trusts = false): Validity {
    return trusts ? 'valid' : this.#view.judge({ key, scopes: scopesOf(key), ...copy }, watchedFrom)
  }

  #validityOf(key: string, entry: Entry): Validity {
    const validity = this.#judge(key, entry, Infinity)
    return validity === 'valid' && entry.epoch !== this.#view.epoch ? 'unknown' : validity
  }

  /** Judges and keeps in one synchronous step. */
  #keep(key: string, copy: Copy, watchedFrom: number | undefined, trusts = false): boolean {
    const validity = this.#judge(key, copy, watchedFrom, trusts)
    if (validity === 'invalid') return false
    this.#entries.set(key, { ...copy, epoch: validity === 'valid' ? this.#view.epoch : -1 })
    return true
  }

  #answer(
    key: string,
    entry: Copy & { epoch?: number },
    watchedFrom?: number,
    read = false,
    beganAt?: Instant,
  ): boolean {
    const trusts = entry.epoch === undefined && this.#world.mutation[read ? 'trustsReads' : 'trustsFlights']
    const validity = this.#judge(key, entry, watchedFrom, trusts)
    if (validity === 'invalid') {
      this.#entries.delete(key)
      return false
    }
    const known = validity === 'valid' && (entry.epoch === undefined || entry.epoch === this.#view.epoch)
    const now = this.machine.instant()
    // Data read less than the shortest proof ago is newer than anything that was acknowledged strictly.
    const stale = !((beganAt && isYoung(beganAt, now)) || (known && this.#view.proven(now.monotonicMs, now.wallMs)))
    this.#watcher.answered({ key, version: entry.version, stale })
    return !stale
  }

  #dropKey(scope: string, at: { readonly generation: string; readonly sequence: number }): void {
    if (!scope.startsWith('k:') || this.#world.mutation.keepsInvalidatedKeys) return
    const entry = this.#entries.get(scope.slice(2))
    // What a producer set is stamped with the same invalidation that announces it.
    if (entry === undefined || (entry.generation === at.generation && entry.sequence >= at.sequence)) return
    this.#entries.delete(scope.slice(2))
  }

  #newView(): InvalidationView {
    return this.#world.mutation.view?.(this.#limits) ?? new InvalidationView(this.#limits)
  }
}

function noted(message: Bumped, publish: Publish): Bumped {
  publish(message)
  return message
}
