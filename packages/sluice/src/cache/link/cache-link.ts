import type { Invalidation, LogReply, Position } from '../protocol/messages.ts'

/** A stored value as Redis has it, with how long ago it was stored. */
export interface StoredValue {
  /** When it was stored, by the clock of Redis; identifies this copy of the key. */
  readonly id: number
  readonly ageMs: number
  /** From `start` to `end`: 16 digits of the time it was stored at, then the copy. */
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

/** Receives the copy of one key. */
export interface ReadWaiter {
  resolve(stored: StoredValue | undefined): void
  reject(error: unknown): void
}

/**
 * The result of a claim: a copy that another process stored meanwhile, the right to fetch, or for how long another
 * process still has that right.
 */
export type ClaimReply =
  | { readonly kind: 'stored'; readonly stored: StoredValue }
  | { readonly kind: 'granted' }
  | { readonly kind: 'held'; readonly forMs: number }

/** The stamp and time of a producer's value. */
export interface SetReply {
  readonly message: Invalidation
  /** When it was stored, by the clock of Redis. */
  readonly id: number
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
  /** The same for one key, without a promise of its own. */
  readOne(key: string, withinMs: number, waiter: ReadWaiter): void
  /** Requests the right to fill a key. A copy that begins with `rejected`, the digits of its time, counts as none. */
  claim(key: string, token: string, claimMs: number, rejected: string, withinMs: number): Promise<ClaimReply>
  /** Keeps a claim for longer; false when it is lost. */
  renew(key: string, token: string, claimMs: number, withinMs: number): Promise<boolean>
  /**
   * Stores a value under a claim and ends the claim. Returns when, by the clock of Redis; 0 when the claim was lost.
   */
  store(key: string, token: string, bytes: Buffer, keepMs: number, withinMs: number): Promise<number>
  /**
   * Invalidates a key and stores what a producer wrote, so that nothing comes between. The bytes are those of a copy
   * without a generation.
   */
  set(key: string, bytes: Buffer, keepMs: number, withinMs: number): Promise<SetReply>
  /** Releases a claim. */
  release(key: string, token: string, withinMs: number): Promise<void>
  /** Records an invalidation in the log, removes the keys, and publishes it. */
  invalidate(scopes: readonly string[], withinMs: number): Promise<Invalidation>
  /** Waits until so many replicas have the latest invalidation. */
  waitForReplicas(replicas: number, withinMs: number): Promise<void>
  /** What happened since a position. A log with the generation `refused` gets a new one. */
  sync(position: Position | undefined, withinMs: number, refused?: string): Promise<LogReply>
  /**
   * Calls the listener with each published invalidation; some may get lost, and `interrupted` is called when that is
   * likely.
   */
  subscribe(listener: (message: Invalidation) => void, interrupted: () => void): () => void
  close(): Promise<void>
}
