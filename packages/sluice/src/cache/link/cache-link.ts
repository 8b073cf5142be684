import type { Invalidation, LogReply, Position } from '../protocol/messages.ts'

/** A stored value as Redis has it, with how long ago it was stored. */
export interface StoredValue {
  /** When it was stored, by Redis; tells this copy of the key from any other. */
  readonly id: number
  readonly ageMs: number
  /** From `start` to `end`: 16 digits of the time it was stored at, then the copy. */
  readonly bytes: Buffer
  readonly start: number
  readonly end: number
}

/** Who waits for the copy of one key. */
export interface ReadWaiter {
  resolve(stored: StoredValue | undefined): void
  reject(error: unknown): void
}

/**
 * What a claim brought: a copy that somebody stored meanwhile, the right to fetch, or for how long another still has
 * it.
 */
export type ClaimReply =
  | { readonly kind: 'stored'; readonly stored: StoredValue }
  | { readonly kind: 'granted' }
  | { readonly kind: 'held'; readonly forMs: number }

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
  /** Asks for the right to fill a key. A copy that begins with `rejected`, the digits of its time, counts as none. */
  claim(key: string, token: string, claimMs: number, rejected: string, withinMs: number): Promise<ClaimReply>
  /** Keeps a claim for longer; false when it is lost. */
  renew(key: string, token: string, claimMs: number, withinMs: number): Promise<boolean>
  /**
   * Stores a value under a claim and ends the claim; false when the claim was lost. A producer needs no claim: without
   * a token the value is stored unless one with a later stamp is there.
   */
  store(
    key: string,
    token: string | undefined,
    bytes: Buffer,
    keepMs: number,
    withinMs: number,
    stamp?: Position,
  ): Promise<boolean>
  /** Gives a claim back. */
  release(key: string, token: string, withinMs: number): Promise<void>
  /** Notes an invalidation, removes the keys, and publishes it. */
  invalidate(scopes: readonly string[], wait: number, withinMs: number): Promise<Invalidation>
  /** What happened since a position. A log with the generation `refused` gets a new one. */
  sync(position: Position | undefined, withinMs: number, refused?: string): Promise<LogReply>
  /**
   * Calls the listener with each published invalidation; some may get lost, and `interrupted` says when that is likely.
   */
  subscribe(listener: (message: Invalidation) => void, interrupted: () => void): () => void
  close(): Promise<void>
}
