import { InvalidationView } from '../invalidation-view.ts'
import type { Invalidation, LogReply, Moment } from '../messages.ts'
import { type Copy, scopesOf, simulatedProofMs, type World } from './world.ts'

interface Entry extends Copy {
  readonly era: number
}

/** An answer to a reader, and what the process then knew. */
export interface Answered {
  readonly key: string
  readonly version: number
  readonly stale: boolean
}

let tokens = 0

const isYoung = (beganAt: Moment, now: Moment): boolean =>
  Math.max(now.monotonicMs - beganAt.monotonicMs, Math.abs(now.wallMs - beganAt.wallMs)) < simulatedProofMs

/** One process: reads, fetches and invalidates by the protocol, with pauses, skewed clocks and lost messages. */
export class SimulatedProcess {
  readonly #world: World
  readonly #answered: (answer: Answered) => void
  readonly #limits = { maxScopes: 2, maxKeys: 1, proofMs: simulatedProofMs }
  #view: InvalidationView
  #entries = new Map<string, Entry>()
  #life = 0
  #server = 0
  #pausedUntilMs = 0
  #lostMonotonicMs = 0
  #wallOffsetMs = 0

  constructor(world: World, answered: (answer: Answered) => void) {
    this.#world = world
    this.#answered = answered
    this.#view = this.#newView()
  }

  get view(): InvalidationView {
    return this.#view
  }

  /** Loses all memory, as a killed and restarted process does. What is under way is never heard of again. */
  crash(): void {
    this.#life += 1
    this.#entries.clear()
    this.#view = this.#newView()
  }

  pause(forMs: number): void {
    this.#pausedUntilMs = Math.max(this.#pausedUntilMs, this.#world.nowMs + forMs)
  }

  /** The machine sleeps: nothing runs, and the monotonic clock stands still. */
  suspend(forMs: number): void {
    if (this.#wallOffsetMs !== 0) return
    this.pause(forMs)
    this.#lostMonotonicMs += forMs
  }

  /**
   * Sets the wall clock. Set back by just what a suspended machine slept, it would hide the sleep: a stated limit, so
   * not both.
   */
  stepWallClock(byMs: number): void {
    if (this.#lostMonotonicMs === 0) this.#wallOffsetMs += byMs
  }

  receive(message: Invalidation): void {
    this.#act(() => {
      const received = this.#view.receive(message)
      if (received !== 'duplicate') for (const scope of message.scopes) this.#dropKey(scope)
      if (received === 'gap') this.sync()
    })
  }

  sync(): void {
    const askedAt = this.#moment()
    const position = this.#view.position
    this.#ask(
      () => ({ reply: this.#world.log.sync(position), server: this.#world.log.runId }),
      ({ reply, server }: { reply: LogReply; server: number }) => {
        const at = this.#world.mutation.datesProofByReply ? this.#moment() : askedAt
        if (this.#view.synchronize(reply, at)) this.#server = server
        for (const [scope] of reply.changes) this.#dropKey(scope)
      },
    )
  }

  read(key: string): void {
    this.#act(() => {
      const entry = this.#entries.get(key)
      if (entry !== undefined && this.#answer(key, entry, Infinity)) return
      const sentAt = this.#view.position
      this.#ask(
        () => this.#readOrClaim(key),
        ({ copy, token, server }) => {
          // What another server answers than the one that was asked for invalidations is not taken: a new connection
          // first asks.
          if (server !== this.#server && !this.#world.mutation.trustsAnyServer) return
          if (copy !== undefined) {
            const from = sentAt?.generation === this.#view.generation ? (sentAt?.sequence ?? 0) : 0
            if (this.#keep(key, copy, from, this.#world.mutation.trustsReads)) this.#answer(key, copy, from, true)
          } else if (token !== undefined) this.#fetch(key, token, 3)
        },
      )
    })
  }

  /** Sends an invalidation; `acknowledged` is called as the promise of `invalidate` would settle. */
  invalidate(key: string, scopes: readonly string[], publish: (message: Invalidation) => void, ack: () => void): void {
    this.#act(() =>
      this.#ask(
        () => {
          if (scopes.includes(`k:${key}`)) {
            this.#world.values.delete(key)
            this.#world.claims.delete(key)
          }
          const message = this.#world.log.bump(scopes)
          publish(message)
          return message
        },
        (message) => {
          this.receive(message)
          ack()
        },
      ),
    )
  }

  #readOrClaim(key: string): { copy?: Copy; token?: number; server: number } {
    const { values, claims, random } = this.#world
    const server = this.#world.log.runId
    const copy = values.get(key)
    // A copy that the reader holds to be invalidated is claimed as if it were missing; here at random.
    if (copy !== undefined && !random.chance(0.2)) return { copy, server }
    if (claims.has(key) && !random.chance(0.3)) return { server } // an expired claim is replaced
    tokens += 1
    claims.set(key, tokens)
    return { token: tokens, server }
  }

  #fetch(key: string, token: number, attempts: number): void {
    const world = this.#world
    const life = this.#life
    const before = this.#view.position
    const beganAt = this.#moment()
    world.after(world.delay(), () => {
      const version = world.database.get(key)!
      world.after(world.delay(), () =>
        this.#act(() => {
          const at = world.mutation.stampsAtEnd ? this.#view.position : before
          const copy: Copy = { version, generation: at?.generation, sequence: at?.sequence ?? 0 }
          this.#ask(() => {
            if (!world.mutation.ignoresClaims && world.claims.get(key) !== token) return
            world.values.set(key, copy)
            world.claims.delete(key)
          })
          const kept = this.#keep(key, copy, undefined, world.mutation.trustsFlights)
          if (!kept && attempts > 1) this.#fetch(key, token, attempts - 1)
          else if (kept)
            this.#answer(key, copy, undefined, false, world.mutation.datesFetchByEnd ? this.#moment() : beganAt)
        }, life),
      )
    })
  }

  /** Judges and keeps in one step: nothing can come between. */
  #keep(key: string, copy: Copy, watchedFrom: number | undefined, trusts = false): boolean {
    const verdict = trusts ? 'current' : this.#view.judge({ key, scopes: scopesOf(key), ...copy }, watchedFrom)
    if (verdict === 'dead') return false
    this.#entries.set(key, { ...copy, era: verdict === 'current' ? this.#view.era : -1 })
    return true
  }

  #answer(key: string, entry: Copy & { era?: number }, watchedFrom?: number, read = false, beganAt?: Moment): boolean {
    const trusts = entry.era === undefined && this.#world.mutation[read ? 'trustsReads' : 'trustsFlights']
    const verdict = trusts ? 'current' : this.#view.judge({ key, scopes: scopesOf(key), ...entry }, watchedFrom)
    if (verdict === 'dead') {
      this.#entries.delete(key)
      return false
    }
    const known = verdict === 'current' && (entry.era === undefined || entry.era === this.#view.era)
    // What was read less than D ago is newer than anything that was acknowledged strictly.
    const stale = !((beganAt && isYoung(beganAt, this.#moment())) || (known && this.#view.proven(this.#moment())))
    this.#answered({ key, version: entry.version, stale })
    return !stale
  }

  #dropKey(scope: string): void {
    if (scope.startsWith('k:') && !this.#world.mutation.keepsInvalidatedKeys) this.#entries.delete(scope.slice(2))
  }

  #newView(): InvalidationView {
    return this.#world.mutation.view?.(this.#limits) ?? new InvalidationView(this.#limits)
  }

  #moment(): Moment {
    const { nowMs } = this.#world
    return { monotonicMs: nowMs - this.#lostMonotonicMs, wallMs: nowMs + this.#wallOffsetMs }
  }

  /** Runs in this process, once it is not paused, and only if it still lives. */
  #act(run: () => void, life = this.#life): void {
    if (life !== this.#life) return
    const pausedMs = this.#pausedUntilMs - this.#world.nowMs
    if (pausedMs > 0) this.#world.after(pausedMs, () => this.#act(run, life))
    else run()
  }

  /** A round trip to Redis: the question or the answer may be lost. */
  #ask<T>(question: () => T, answer?: (reply: T) => void): void {
    const world = this.#world
    const life = this.#life
    if (world.random.chance(0.05)) return
    world.after(world.delay(), () => {
      const reply = question()
      if (answer === undefined || world.random.chance(0.05)) return
      world.after(world.delay(), () => this.#act(() => answer(reply), life))
    })
  }
}
