import type { Bumped, Invalidation, LogReply, Position } from '../protocol/messages.ts'
import type { StoredValue } from '../values/stored-value.ts'

/**
 * What Redis answers to a lookup: the stored copy; `locked`, this process has the fill lock and must fetch; or `held`,
 * another process has it, for so long unless it renews it.
 */
export type LookupReply =
  | StoredValue
  | { readonly kind: 'locked'; readonly token: string }
  | { readonly kind: 'held'; readonly forMs: number }

/** Receives the answer to a lookup: a callback, as most lookups need no promise of their own. */
export interface LookupWaiter {
  resolve(reply: LookupReply): void
  reject(error: unknown): void
}

/** The stamp and time of a producer's value. */
export interface SetReply {
  /** May be about other keys too. */
  readonly message: Invalidation
  /** When it was stored, by the clock of Redis. */
  readonly id: number
}

/** What is published to all processes. Some of it may get lost. */
export interface LinkSubscriber {
  invalidated(message: Invalidation): void
  /** A fill lock that this process waited for has ended. */
  filled(key: string): void
  /** Messages may have been lost. */
  interrupted(): void
}

/**
 * What the cache needs of Redis. Every call settles by `withinMs`, and rejects when Redis did not answer by then. Keys
 * are encoded, without the namespace.
 */
export interface CacheLink {
  /** Grows with every new connection, as it may lead to another server than the one before. */
  readonly connection: number
  /** What is stored under these keys; undefined for none. */
  read(keys: readonly string[], withinMs: number): Promise<(StoredValue | undefined)[]>
  /** Reads a key, or takes its fill lock. A copy that begins with `rejected` counts as none. */
  readOrLock(key: string, rejected: Buffer, withinMs: number, waiter: LookupWaiter): void
  /** Keeps a fill lock for longer; false when it is lost. */
  renew(key: string, token: string, withinMs: number): Promise<boolean>
  /**
   * Stores a value under a fill lock and ends the lock. Returns when, by the clock of Redis; 0 when the lock was lost.
   */
  store(key: string, token: string, copy: string | Buffer, keepMs: number, withinMs: number): Promise<number>
  /** Releases a fill lock. */
  release(key: string, token: string, withinMs: number): Promise<void>
  /**
   * Invalidates a key and stores what a producer wrote, so that nothing comes between. The copy has no generation
   * yet.
   */
  set(key: string, copy: string | Buffer, keepMs: number, withinMs: number): Promise<SetReply>
  /** Records an invalidation in the log, removes the keys, and publishes it. */
  invalidate(scopes: readonly string[], withinMs: number): Promise<Bumped>
  /** Waits until so many replicas have the latest invalidation. */
  waitForReplicas(replicas: number, withinMs: number): Promise<void>
  /** What happened since a position. A log with the generation `refused` gets a new one. */
  sync(position: Position | undefined, withinMs: number, refused?: string): Promise<LogReply>
  subscribe(subscriber: LinkSubscriber): () => void
  /** Whether Redis answers now. */
  isReachable(withinMs: number): Promise<boolean>
  /** Sends at once what is gathered to be stored. */
  flush(): void
  close(): Promise<void>
}
