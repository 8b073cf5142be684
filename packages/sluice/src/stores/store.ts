import type { BreakerState } from '../breaker/circuit.ts'
import type { Answer, Ask, Charge } from '../core/engine/ask.ts'
import type { FailureKind } from '../core/errors.ts'
import type { StoreHealth } from '../core/observe/store-health.ts'

export type { StoreHealth } from '../core/observe/store-health.ts'

/**
 * `allowed`, `denied`: the source of truth decided. `failed`: it did not answer, so the rule was closed. `raised`: the
 * count of the source was written to a store that had lost its counter.
 */
export type RecountOutcome = 'allowed' | 'denied' | 'failed' | 'raised'

/** Observes a store. Every call is on the hot path, so a store without observers skips them. */
export interface StoreObserver {
  roundTrip?(asks: number, tookMs: number): void
  /** Something was decided without I/O. */
  local?(by: 'deny-cache' | 'lease', rule: string): void
  lease?(rule: string, drawn: number, returned: number, stranded: number): void
  failure?(kind: FailureKind, error: Error): void
  /** A source of truth was asked for a rule; see `RecountOutcome`. When it failed, `error` says how. */
  recount?(rule: string, outcome: RecountOutcome, error?: Error): void
  breaker?(state: BreakerState): void
  /** The store has lost so many keys to make room, perhaps counters among them. */
  evicted?(keys: number): void
}

/** Waits for an answer; called exactly once. */
export interface AnswerCallback {
  answered(answer: Answer): void
  failed(error: unknown): void
}

/** Shows whether a store may have lost writes, so that an absent counter does not count as zero. */
export interface Continuity {
  /** Which shard of the store keeps a subject; a shard is lost as a whole. */
  shardOf(charge: Charge): number
  /** Changes with every new connection, behind which another server may be. */
  connection(): number
  /** Since when this shard has kept everything, in the store's time in microseconds. Rejects with a `StoreError`. */
  intactSinceUs(shard: number, withinMs: number): number | Promise<number>
}

/** Shows afterwards whether a store has lost what it kept: restarted or replaced without it, or emptied. */
export interface LossMark {
  /** Which shard of the store keeps a subject; a shard is lost as a whole. */
  shardOf(charge: Charge): number
  /**
   * A number that stays the same until what the shard keeps is lost, the mark with it, and then is another one. Rejects
   * with a `StoreError`.
   */
  read(shard: number, withinMs: number): number | Promise<number>
}

/** Of those that wait in a process: so many units up to and with one of them, and for how long that one has waited. */
export interface Waits {
  readonly units: number
  readonly forUs: number
}

/** Knows which processes wait for the same units, so that each can leave to the others what they waited longer for. */
export interface WaitLine {
  /**
   * Says what waits in this process, longest first, for `forMs` from now; nothing waits any more when it is empty.
   * Resolves to the same of each other process. Rejects with a `StoreError`.
   */
  stand(
    key: string,
    process: string,
    waits: readonly Waits[],
    forMs: number,
    withinMs: number,
  ): Promise<readonly (readonly Waits[])[]>
}

/** What a store can do beyond `decide`. What is not declared is not assumed. */
export interface StoreAbilities {
  /**
   * The state is in this process only, and `decide` answers without a promise: a local answer would gain nothing, and
   * egress keeps its places in process too.
   */
  readonly inProcess?: true
  /** `withinMs` is kept whatever happens. Otherwise the limiter waits no longer by itself. */
  readonly keepsDeadlines?: true
  /**
   * `decide` without a promise for every layer that an answer passes, as thousands may be waiting for one. Returns the
   * answer if there is one at once; else the callback is called, after this has returned.
   */
  readonly submit?: (ask: Ask, withinMs: number, callback: AnswerCallback) => Answer | undefined
  /** Without it, every subject of a rule with `onStoreFailure: recount` is recounted once by each process. */
  readonly continuity?: Continuity
  /** Without it, a reservation that the store has lost charges nothing when it is settled. */
  readonly lossMark?: LossMark
  /** Without it, `limiter.wait` keeps the order within a process, and not between processes. */
  readonly line?: WaitLine
}

/**
 * Where counters live. A store answers an ask exactly once and exactly (see `Ask`), and settles within `withinMs`: with
 * an answer, or by rejecting with a `StoreError`. It may answer at once instead of with a promise.
 *
 * The creator of a store closes it. To change one, use `wrapStore`.
 */
export interface Store {
  readonly name: string
  readonly abilities?: StoreAbilities
  decide(ask: Ask, withinMs: number): Answer | Promise<Answer>
  /** Adds an observer; the returned function removes it. */
  watch?(observer: StoreObserver): () => void
  /**
   * A limiter uses the store until it calls the returned function. A store without users may close its connections.
   */
  use?(): () => Promise<void>
  health(withinMs: number): Promise<StoreHealth>
  /** Waits for what is in flight, and frees what the store opened. Asks after it are refused with kind `closed`. */
  close(): Promise<void>
}
