import { SluiceError } from '../../core/errors.ts'
import type { Invalidation } from '../protocol/messages.ts'
import { stampCopy } from '../values/stored-copy.ts'
import { type CacheRedis, keepText, millisText } from './cache-redis.ts'
import { type RedisLog, readPosition } from './redis-log.ts'
import { beginSet, endSet, set } from './scripts.gen.ts'

/** With larger calls, Redis would answer nobody else for too long. */
const maxItems = 64
const maxBytes = 256 * 1024
/** How often a set in steps is tried again after other writers came in between. */
const maxAttempts = 5

/** The stamp and time of a producer's value. */
export interface SetReply {
  /** May be about other keys too. */
  readonly message: Invalidation
  /** When it was stored, by the clock of Redis. */
  readonly id: number
}

/** What a producer wrote. */
interface SetItem {
  readonly encoded: string
  /** Without a generation. */
  readonly copy: string | Buffer
  readonly keepMs: number
  readonly withinMs: number
}

interface Waiting extends SetItem {
  resolve(reply: SetReply): void
  reject(error: unknown): void
}

/**
 * Writes the values of producers: each invalidates its key and is stored, so that nothing comes between. On one node
 * that is one script, one call after another; what was asked for during a call is sent together.
 */
export class Sets {
  readonly #redis: CacheRedis
  readonly #log: RedisLog
  #waiting: Waiting[] = []
  #isSending = false

  constructor(redis: CacheRedis, log: RedisLog) {
    this.#redis = redis
    this.#log = log
  }

  /** Resolves with the message of all keys that were set by the same call. */
  set(encoded: string, copy: string | Buffer, keepMs: number, withinMs: number): Promise<SetReply> {
    const item = { encoded, copy, keepMs, withinMs }
    if (this.#redis.isCluster) return this.#redis.inTurn(() => this.#setInSteps(item))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...item, resolve, reject })
      if (this.#isSending) return
      this.#isSending = true
      // After all others that are asked for in this step: to encode thousands of values takes longer than a deadline.
      queueMicrotask(() => void this.#sendAll())
    })
  }

  async #sendAll(): Promise<void> {
    while (this.#waiting.length > 0) {
      const items = this.#next()
      await this.#send(items).then(
        (reply) => {
          for (const { resolve } of items) resolve(reply)
        },
        (error) => {
          for (const { reject } of items) reject(error)
        },
      )
    }
    this.#isSending = false
  }

  #next(): readonly Waiting[] {
    let bytes = 0
    const end = this.#waiting.findIndex(({ copy }, index) => {
      bytes += copy.length
      return index >= maxItems || (index > 0 && bytes > maxBytes)
    })
    const items = end < 0 ? this.#waiting : this.#waiting.slice(0, end)
    this.#waiting = end < 0 ? [] : this.#waiting.slice(end)
    return items
  }

  async #send(items: readonly SetItem[]): Promise<SetReply> {
    const redis = this.#redis
    const scopes = items.map(({ encoded }) => `k:${encoded}`)
    const keys = [...redis.log, ...items.flatMap(({ encoded }) => [redis.value(encoded), redis.lock(encoded)])]
    const values = items.flatMap(({ copy, keepMs }, i) => [scopes[i]!, copy, keepText(keepMs)])
    const { reply, nowUs } = await redis.runScript(set, keys, [...this.#log.args(), ...values], items[0]!.withinMs)
    return { message: readPosition(reply, scopes), id: nowUs }
  }

  /**
   * Where the log is on another node than the value: takes the fill lock of the key, records the invalidation, and
   * stores under the lock. Any other change of the key in between ends the lock; then it begins again.
   */
  async #setInSteps({ encoded, copy, keepMs, withinMs }: SetItem): Promise<SetReply> {
    const redis = this.#redis
    const left = redis.countdown(withinMs)
    const keys = [redis.value(encoded), redis.lock(encoded)]
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const { connection } = redis
      const token = `set.${redis.newNonce()}`
      // Longer than the steps may take, so that no other process fetches between them.
      await redis.runScript(beginSet, keys, [token, millisText(withinMs * 2)], left())
      // A new connection may lead to a server that took over without the lock.
      if (redis.connection !== connection) continue
      const message = await this.#log.bump([`k:${encoded}`], left())
      const { generation, sequence } = message
      const stamped = stampCopy(copy, generation, sequence)
      const args = [token, redis.channel, stamped, keepText(keepMs), generation, String(sequence)]
      const { reply, nowUs } = await redis.runScript(endSet, keys, args, left())
      if (reply.read() === 1) return { message, id: nowUs }
    }
    throw new SluiceError('SLUICE_STORE_FAILED', 'the connection was lost, or others set the key again and again', {
      transient: true,
    })
  }
}
