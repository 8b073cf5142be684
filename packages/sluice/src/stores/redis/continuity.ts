import type { Charge } from '../../core/engine/ask.ts'
import type { Redis } from '../../redis/redis.ts'
import type { Script } from '../../redis/script.ts'
import { noSlot, slotOf } from '../../redis/slots.ts'
import type { Continuity, LossMark } from '../store.ts'
import { continuity, lossMark } from './scripts.gen.ts'

/**
 * Keeps a marker in Redis, in each slot of a cluster that is asked for: data is lost with the node that serves the
 * slot.
 */
export function redisContinuity(prefix: string, keyOf: (charge: Charge) => string, redis: () => Redis): Continuity {
  return {
    shardOf: (charge) => shardOf(keyOf(charge), redis()),
    connection: () => redis().connection(),
    intactSinceUs: (shard, withinMs) => ask(redis(), continuity, keyIn(shard, `${prefix}#marker`), withinMs),
  }
}

/** The same, with a marker that is lost only with the data: it outlives a restart that keeps them. */
export function redisLossMark(prefix: string, keyOf: (charge: Charge) => string, redis: () => Redis): LossMark {
  return {
    shardOf: (charge) => shardOf(keyOf(charge), redis()),
    read: (shard, withinMs) => ask(redis(), lossMark, keyIn(shard, `${prefix}#mark`), withinMs),
  }
}

const shardOf = (key: string, { isCluster }: Redis): number => (isCluster ? slotOf(key) : noSlot)

/** No counter begins so: a service whose name starts with `#` is escaped. */
const keyIn = (shard: number, name: string): string => (shard === noSlot ? name : `${name}/{${tagOf(shard)}}`)

async function ask(redis: Redis, script: Script, key: string, withinMs: number): Promise<number> {
  const { reply } = await redis.runScript({ script, keys: [key], withinMs })
  return reply.read() as number
}

const tags = new Map<number, string>()
let tried = 0

/**
 * A hash tag in a slot. Tags are found by trying one after the other; about ten times as many as there are slots find
 * them all.
 */
function tagOf(slot: number): string {
  for (; !tags.has(slot); tried++) {
    const tag = tried.toString(36)
    const found = slotOf(tag)
    if (!tags.has(found)) tags.set(found, tag)
  }
  return tags.get(slot)!
}
