import { SluiceError } from '../../core/errors.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import { maxKeys, maxScopes } from '../l1/l1.ts'
import { inPortions } from '../portions.ts'
import type { Bumped, Invalidation, LogReply, Position } from '../protocol/messages.ts'
import { type CacheRedis, millisText } from './cache-redis.ts'
import { bump, forget, sync } from './scripts.gen.ts'

/** More keys than this are removed by several calls; an even number, as they come in pairs. */
const keysPerCall = 1000
/**
 * How long Redis waits for replicas at a time. It answers nothing else on the socket meanwhile; with one long wait, all
 * reads would wait too, and the socket would look dead.
 */
const waitMs = 20
/** What a message begins with that says that a fill lock has ended. */
const filled = 'filled '

/** What is published to all processes. Some of it may get lost. */
export interface LogSubscriber {
  invalidated(message: Invalidation): void
  /** A fill lock that this process waited for has ended. */
  filled(key: string): void
  /** Messages may have been lost. */
  interrupted(): void
  /** This process receives no messages: its account lacks the right. */
  refused(error: unknown): void
}

/** The log of invalidations in Redis, and the messages about it. */
export class RedisLog {
  readonly #redis: CacheRedis
  readonly #proofMs: number

  /** `proofMs` is how long a proof of this process holds. */
  constructor(redis: CacheRedis, proofMs: number) {
    this.#redis = redis
    this.#proofMs = proofMs
  }

  /** What happened since a position. A log with the generation `refused` gets a new one. */
  async sync(position: Position | undefined, withinMs: number, refused = ''): Promise<LogReply> {
    const { generation = '', sequence = 0 } = position ?? {}
    const args = [generation, String(sequence), this.#redis.newNonce(), refused, millisText(this.#proofMs)]
    const { reply } = await this.#redis.runScript(sync, this.#redis.log, args, withinMs)
    return readLog(reply)
  }

  /** Records an invalidation in the log, removes the keys, and publishes it. */
  async invalidate(scopes: readonly string[], withinMs: number): Promise<Bumped> {
    const left = this.#redis.countdown(withinMs)
    // The keys are removed first: a process that receives the invalidation must not find the old copies any more.
    await this.#forget(scopes, withinMs)
    return this.bump(scopes, left())
  }

  /** Records an invalidation in the log and publishes it. */
  async bump(scopes: readonly string[], withinMs: number): Promise<Bumped> {
    const { reply } = await this.#redis.runScript(bump, this.#redis.log, this.args(scopes), withinMs)
    return { ...readPosition(reply, scopes), longestProofMs: Number(reply.read()) }
  }

  /** What scripts that record an invalidation are told of the log. */
  args(scopes: readonly string[] = []): string[] {
    return [this.#redis.channel, this.#redis.newNonce(), String(maxKeys), String(maxScopes), ...scopes]
  }

  subscribe(subscriber: LogSubscriber): () => void {
    const { channel, prefix } = this.#redis
    return this.#redis.subscribe(channel, {
      message: (text) => {
        if (text.startsWith(filled)) subscriber.filled(text.slice(filled.length + prefix.length))
        else {
          const message = parseInvalidation(text)
          if (message !== undefined) subscriber.invalidated(message)
        }
      },
      ready: () => subscriber.interrupted(),
      refused: (error) => subscriber.refused(error),
    })
  }

  /** Waits until so many replicas have the latest invalidation. */
  async waitForReplicas(replicas: number, withinMs: number): Promise<void> {
    const left = this.#redis.countdown(withinMs)
    const { connection } = this.#redis
    let received = 0
    do {
      const ms = Math.max(1, Math.ceil(Math.min(waitMs, left())))
      const reply = await this.#redis.command(['WAIT', String(replicas), String(ms)], left() + waitMs)
      // On a new connection nothing was written, so WAIT would count all replicas as up to date.
      if (this.#redis.connection !== connection) break
      received = Number(reply)
      if (received >= replicas) return
    } while (left() > 1)
    throw new SluiceError('SLUICE_STORE_FAILED', `only ${received} of ${replicas} replicas have the invalidation`, {
      transient: true,
    })
  }

  /** Removes the keys among the scopes, those of one cluster slot by one call. */
  async #forget(scopes: readonly string[], withinMs: number): Promise<void> {
    const bySlot = new Map<number, string[]>()
    for (const scope of scopes) {
      if (!scope.startsWith('k:')) continue
      const encoded = scope.slice(2)
      const value = this.#redis.value(encoded)
      const slot = this.#redis.slotOf(value)
      const keys = bySlot.get(slot) ?? []
      bySlot.set(slot, keys)
      keys.push(value, this.#redis.lock(encoded))
    }
    const portions = [...bySlot.values()].flatMap((keys) => inPortions(keys, keysPerCall))
    await Promise.all(portions.map((keys) => this.#redis.runScript(forget, keys, [], withinMs)))
  }
}

/** Reads a published invalidation: generation, sequence and scopes, separated by spaces. Anything else is ignored. */
function parseInvalidation(text: string): Invalidation | undefined {
  const [generation, digits, ...scopes] = text.split(' ')
  const sequence = Number(digits)
  if (!generation || !Number.isSafeInteger(sequence) || sequence < 1 || scopes.length === 0) return undefined
  return { generation, sequence, scopes }
}

/** Reads the position that an invalidation has in the log. */
export function readPosition(reply: MsgpackReader, scopes: readonly string[]): Invalidation {
  return { generation: String(reply.read()), sequence: Number(reply.read()), scopes }
}

/** Reads what `sync.lua` returns: what happened since a position. */
function readLog(reply: MsgpackReader): LogReply {
  const generation = String(reply.read())
  const next = (): number => Number(reply.read())
  const [sequence, last, since, keyFloor, scopeFloor] = [next(), next(), next(), next(), next()]
  const flat = reply.read() as (string | number)[]
  const changes: [string, number][] = []
  for (let i = 0; i < flat.length; i += 2) changes.push([String(flat[i]), Number(flat[i + 1])])
  return {
    ...{ generation, sequence, isLast: last === 1, keyFloor, scopeFloor, changes },
    since: since < 0 ? undefined : since,
  }
}
