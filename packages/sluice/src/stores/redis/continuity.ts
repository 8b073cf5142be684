import type { Charge } from '../../core/engine/ask.ts'
import type { Redis } from '../../redis/redis.ts'
import { noSlot, slotOf } from '../../redis/slots.ts'
import type { Continuity } from '../store.ts'
import { continuity } from './scripts.gen.ts'

/**
 * Keeps a marker in Redis, in each slot of a cluster that is asked for: data is lost with the node that serves the
 * slot.
 */
export function redisContinuity(prefix: string, keyOf: (charge: Charge) => string, redis: () => Redis): Continuity {
  return {
    shardOf: (charge) => (redis().isCluster ? slotOf(keyOf(charge)) : noSlot),
    connection: () => redis().connection(),
    async intactSinceUs(shard, withinMs) {
      // No counter begins so: a service whose name starts with `#` is escaped.
      const key = shard === noSlot ? `${prefix}#marker` : `${prefix}#marker/{${tagOf(shard)}}`
      const { reply } = await redis().runScript({ script: continuity, keys: [key], withinMs })
      return reply.read() as number
    },
  }
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
