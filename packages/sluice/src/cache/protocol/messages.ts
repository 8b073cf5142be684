/**
 * What an invalidation changes. The log of a namespace has a *generation*, an id that Redis creates whenever the log is
 * missing, incomplete or found on another server, and a *sequence* that counts invalidations within it. Positions of
 * different generations cannot be compared: what is stamped with another one is unknown, never old or new.
 */
export interface Position {
  readonly generation: string
  readonly sequence: number
}

/** One invalidation, as published to all processes and as returned to its sender. */
export interface Invalidation extends Position {
  /** `k:` a key, `p:` a prefix, `t:` a tag; with an `x` before it, what it covers is not invalid but only stale. */
  readonly scopes: readonly string[]
}

/** What Redis answers to an invalidation. */
export interface Bumped extends Invalidation {
  /** How long the longest proof holds that any process may have. */
  readonly longestProofMs: number
}

/** What Redis answers to "what happened since this position?": all up to `sequence`. */
export interface LogReply extends Position {
  /** Whether nothing happened after `sequence`: only then does the answer prove anything. */
  readonly isLast: boolean
  /** The sequence from which `changes` continue; undefined when they are the first that the log remembers. */
  readonly since: number | undefined
  /** Entries stamped before these may have been invalidated by something that the log no longer has. */
  readonly scopeFloor: number
  readonly keyFloor: number
  /** Scopes with the sequence of their last invalidation. */
  readonly changes: readonly (readonly [scope: string, sequence: number])[]
}

/** The scope that makes what another scope covers stale. */
export function expiryOf(scope: string): string {
  return `x${scope}`
}
