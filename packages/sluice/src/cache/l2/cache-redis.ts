import { randomBytes } from 'node:crypto'
import type { Clock } from '../../core/clock.ts'
import { SluiceError } from '../../core/errors.ts'
import { missingRight } from '../../redis/missing-right.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { Redis } from '../../redis/redis.ts'
import type { ReadCall } from '../../redis/runner/read-call.ts'
import type { ScriptCall } from '../../redis/runner/script-call.ts'
import type { Script } from '../../redis/script.ts'
import { noSlot, slotOf } from '../../redis/slots.ts'
import { Gate } from '../../runtime/gate.ts'

/** Replies may be large, so they use a separate socket. All calls of the cache do: its proofs are about that socket. */
const lane = 'values'
/** How many values are written at a time; the others wait in this process. */
const maxWrites = 256

/**
 * The Redis of one cache: its keys, all under its prefix (`sluice:#cache/<service>/<name>/`), and its calls. Names
 * never start with `#`, so nothing collides.
 */
export class CacheRedis {
  readonly isCluster: boolean
  readonly clock: Clock
  readonly prefix: string
  /** The log, in one slot: a hash and three sorted sets. */
  readonly log: readonly [string, string, string, string]
  readonly channel: string
  readonly subscribe: Redis['subscribe']
  readonly #redis: Redis
  readonly #writes: Gate
  readonly #nonce = randomBytes(6).toString('hex')
  #calls = 0

  constructor(redis: Redis, prefix: string, clock: Clock) {
    const log = `{${prefix}#log}`
    this.isCluster = redis.isCluster
    this.clock = clock
    this.prefix = prefix
    this.log = [log, `${log}!keys`, `${log}!scopes`, `${log}!proofs`]
    this.channel = `${prefix}#invalidations`
    this.subscribe = redis.subscribe.bind(redis)
    this.#redis = redis
    const refusal = (): SluiceError => new SluiceError('SLUICE_REFUSED', 'too many writes wait')
    this.#writes = new Gate({ limit: maxWrites, queue: Infinity, clock, refusal })
  }

  /** Grows with every new connection, as it may lead to another server than the one before. */
  get connection(): number {
    return this.#redis.connection(lane)
  }

  /** The key of a value. */
  value(encoded: string): string {
    return this.prefix + encoded
  }

  /** The key of the fill lock, in the slot of its value. */
  lock(encoded: string): string {
    return `{${this.prefix}${encoded}}!lock`
  }

  slotOf(key: string): number {
    return this.isCluster ? slotOf(key) : noSlot
  }

  run(call: ScriptCall): void {
    this.#redis.run(call, lane)
  }

  read(call: ReadCall): void {
    this.#redis.read(call, lane)
  }

  runScript(
    script: Script,
    keys: readonly string[],
    args: readonly (string | Buffer)[],
    withinMs: number,
  ): Promise<{ readonly reply: MsgpackReader; readonly nowUs: number }> {
    return this.#redis.runScript({ script, keys, args, withinMs, lane })
  }

  /** Runs a command on the node of the log. */
  command(words: readonly string[], withinMs: number): Promise<unknown> {
    return this.#redis.command(words, { key: this.log[0], withinMs, lane })
  }

  /** Whether Redis answers now. */
  isReachable(withinMs: number): Promise<boolean> {
    // A server that refuses the account is there.
    return this.command(['PING'], withinMs).then(
      () => true,
      (error) => missingRight(error) !== undefined,
    )
  }

  /** Writes when its turn comes: of thousands at once, the last would miss their deadlines. */
  async inTurn<T>(write: () => Promise<T>): Promise<T> {
    if (!this.#writes.tryEnter()) await this.#writes.turn()
    try {
      return await write()
    } finally {
      this.#writes.leave()
    }
  }

  /** How much of a time limit is left, in milliseconds; at least 1. */
  countdown(withinMs: number): () => number {
    const endMs = this.clock.monotonic() + withinMs
    return () => Math.max(1, endMs - this.clock.monotonic())
  }

  /** A text that no other call has. */
  newNonce(): string {
    this.#calls += 1
    return `${this.#nonce}.${this.#calls}`
  }
}

/** Milliseconds as an argument of a script. */
export const millisText = (ms: number): string => String(Math.max(1, Math.ceil(ms)))

/** How long a copy is kept, as an argument of a script; 0 for no expiry. */
export const keepText = (ms: number): string => (ms === Infinity ? '0' : millisText(ms))
