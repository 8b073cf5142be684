import { type Instant, passedMs } from './instant.ts'
import { InvalidationTable } from './invalidation-table.ts'
import { expiryOf, type Invalidation, type LogReply, type Position } from './messages.ts'

/** The fields of an entry, a flight or a read in progress that decide whether an invalidation concerns it. */
export interface Stamped {
  /** The key, as encoded. */
  readonly key: string
  /** Prefixes and tags. */
  readonly scopes: readonly string[]
  /** A position read before the data was; no generation where none was known. */
  readonly generation: string | undefined
  readonly sequence: number
}

/**
 * `invalid`: must not be returned. `unknown`: may be returned, but only as stale. `valid`: not invalidated.
 */
export type Validity = 'valid' | 'unknown' | 'invalid'

/** The result of a message. After `gap` the log must be read. */
export type Received = 'applied' | 'duplicate' | 'gap'

interface Tables {
  readonly generation: string
  readonly scopes: InvalidationTable
  readonly keys: InvalidationTable
}

export interface ViewLimits {
  readonly maxScopes: number
  readonly maxKeys: number
  /** How long a proof holds. */
  readonly proofMs: number
}

const remembered = 4

/**
 * What one process knows of the invalidations of a namespace. It decides nothing by messages alone: only an answer of
 * Redis proves that all invalidations up to the time of the request are known, and the proof ends `proofMs` later, by
 * whichever clock is first. An invalidation that was acknowledged strictly waited for that long, so a process with a
 * proof has received it.
 */
export class InvalidationView {
  readonly #limits: ViewLimits
  /** The tables in use first, then those of generations before. */
  #tables: Tables[] = []
  #sequence = 0
  #epoch = 0
  #scopeVersion = 0
  #proof: Instant | undefined
  /** Whether anything was ever expired: most caches never do that. */
  #hasExpiries = false

  constructor(limits: ViewLimits) {
    this.#limits = limits
  }

  /** Grows when entries of this process can no longer be compared with the log: they are then only stale. */
  get epoch(): number {
    return this.#epoch
  }

  /** The stamp of an entry whose data is read from now on. */
  get position(): Position | undefined {
    const generation = this.#tables[0]?.generation
    return generation === undefined ? undefined : { generation, sequence: this.#sequence }
  }

  /**
   * Changes with every invalidation of a prefix or tag: an entry judged under the same version need not be judged
   * again.
   */
  get scopeVersion(): number {
    return this.#scopeVersion
  }

  get generation(): string | undefined {
    return this.#tables[0]?.generation
  }

  get sequence(): number {
    return this.#sequence
  }

  /** Whether all invalidations up to `proofMs` ago are known, by the times of now. */
  proven(monotonicMs: number, wallMs: number): boolean {
    return this.#proof !== undefined && passedMs(this.#proof, monotonicMs, wallMs) < this.#limits.proofMs
  }

  /**
   * Whether the log had this generation before the current one. A server that comes back after another has taken over
   * does not have the invalidations of the meantime, so its log must get a new generation first.
   */
  hasLeft(generation: string): boolean {
    return this.#tables.some((tables, age) => age > 0 && tables.generation === generation)
  }

  receive(message: Invalidation, nowMs = 0): Received {
    const [tables] = this.#tables
    if (tables === undefined || message.generation !== tables.generation) return 'gap'
    if (message.sequence <= this.#sequence) return 'duplicate'
    for (const scope of message.scopes) this.#record(tables, scope, message.sequence, nowMs)
    if (message.sequence > this.#sequence + 1) return 'gap'
    this.#sequence = message.sequence
    return 'applied'
  }

  /**
   * Applies an answer of the log. `askedAt` is when the request was sent: the answer may not contain what happened
   * later. An answer that was overtaken by a later one is dropped, as it may come from a server that has since been
   * replaced. Returns whether it was applied.
   */
  synchronize(reply: LogReply, askedAt: Instant): boolean {
    if (this.#proof !== undefined && askedAt.monotonicMs < this.#proof.monotonicMs) return false
    let [tables] = this.#tables
    if (reply.since !== undefined && (tables?.generation !== reply.generation || this.#sequence < reply.since))
      return false
    if (tables?.generation !== reply.generation) {
      if (this.hasLeft(reply.generation)) return false
      tables = this.#newTables(reply)
      this.#tables = [tables, ...this.#tables].slice(0, remembered)
      this.#sequence = 0
      this.#epoch += 1
    } else if (reply.since === undefined || reply.since < Math.max(reply.scopeFloor, reply.keyFloor)) {
      tables.scopes.raiseFloor(reply.scopeFloor)
      tables.keys.raiseFloor(reply.keyFloor)
      this.#epoch += 1
    }
    for (const [scope, sequence] of reply.changes) this.#record(tables, scope, sequence, askedAt.monotonicMs)
    this.#sequence = Math.max(this.#sequence, reply.sequence)
    if (reply.isLast) this.#proof = askedAt
    return true
  }

  /**
   * Judges what was read after its stamp. An invalidation of a key also removes it from Redis and from the first level,
   * so for those the log need not remember invalidations of the key since the stamp, but only since `watchedFrom`: the
   * position of the view when the read was sent to Redis, and `Infinity` for what is in the first level.
   */
  judge(subject: Stamped, watchedFrom: number = subject.sequence): Validity {
    for (const tables of this.#tables) {
      const own = tables.generation === subject.generation
      // The order of invalidations of other generations is unknown. All of the more recent ones count, to be on the
      // safe side.
      const sequence = own ? subject.sequence : 0
      if (tables.keys.size > 0 && tables.keys.changedSince(`k:${subject.key}`, sequence)) return 'invalid'
      if (tables.scopes.size > 0) {
        for (const scope of subject.scopes) if (tables.scopes.changedSince(scope, sequence)) return 'invalid'
      }
      // An invalidation removed below a floor may have been one of this entry.
      const current = own && tables === this.#tables[0]
      if (sequence < tables.scopes.floor || (current ? watchedFrom : sequence) < tables.keys.floor) return 'invalid'
      if (own) return current && !this.#isExpired(tables, subject) ? 'valid' : 'unknown'
    }
    return 'unknown'
  }

  /**
   * Whether this process received an invalidation of the key or one of the scopes since then, by the monotonic clock.
   */
  heardSince(key: string, scopes: readonly string[], monotonicMs: number): boolean {
    return this.#tables.some(
      (tables) =>
        tables.keys.heardSince(`k:${key}`, monotonicMs) ||
        scopes.some((scope) => tables.scopes.heardSince(scope, monotonicMs)),
    )
  }

  #isExpired({ scopes: table }: Tables, { key, scopes, sequence }: Stamped): boolean {
    if (!this.#hasExpiries) return false
    const hasChanged = (scope: string): boolean => table.changedSince(expiryOf(scope), sequence)
    return hasChanged(`k:${key}`) || scopes.some(hasChanged)
  }

  #newTables({ generation, scopeFloor, keyFloor }: LogReply): Tables {
    const { maxScopes, maxKeys } = this.#limits
    const scopes = new InvalidationTable(maxScopes, scopeFloor)
    return { generation, scopes, keys: new InvalidationTable(maxKeys, keyFloor) }
  }

  #record(tables: Tables, scope: string, sequence: number, heardMs: number): void {
    if (scope.charCodeAt(0) === 107) {
      tables.keys.record(scope, sequence, heardMs)
      return
    }
    tables.scopes.record(scope, sequence, heardMs)
    if (scope.charCodeAt(0) === 120) this.#hasExpiries = true
    this.#scopeVersion += 1
  }
}
