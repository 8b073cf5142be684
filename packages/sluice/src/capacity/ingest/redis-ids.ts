import { checkOptionNames } from '../../core/check-options.ts'
import { type Duration, parseDuration } from '../../core/duration.ts'
import { encodeKey } from '../../core/key.ts'
import type { RedisClient } from '../../redis/client.ts'
import { defaultPrefix, namespaceOf } from '../../redis/namespaces.ts'
import { useRedis } from '../../redis/open-redis.ts'
import type { Redis } from '../../redis/redis.ts'
import { splitId } from './read-batch.ts'
import { mostRuns } from './runs.ts'
import { claimIds } from './scripts.gen.ts'
import { claimMs, type Seen, type SeenIds } from './seen-ids.ts'

export interface RedisIdsOptions {
  /** The service whose events they are: its collectors share the ids. */
  readonly service: string
  /** How long a producer is remembered after its last event. One day by default. */
  readonly ttl?: Duration
  readonly prefix?: string
}

/** How many events of one producer go into one call: Lua returns a limited number of values. */
const mostPerCall = 1000
const withinMs = 5000
const replies: readonly Seen[] = ['new', 'pending', 'done']

/**
 * Remembers ids in Redis, so that several collectors drop what any of them has accepted.
 *
 * @example createIngest({ accept, ids: redisIds(client, { service: 'collector' }) })
 */
export function redisIds(client: RedisClient | Redis, options: RedisIdsOptions): SeenIds {
  checkOptionNames('redisIds', options, ['service', 'ttl', 'prefix'])
  const ttlMs = parseDuration(options.ttl ?? '1d', 'redisIds.ttl')
  const { redis, release } = useRedis(client, {}, 'redisIds')
  const keys = namespaceOf('capacity', options.service, options.prefix ?? defaultPrefix)

  async function run(action: 'claim' | 'finish' | 'release', ids: readonly string[]): Promise<readonly Seen[]> {
    const seen = new Array<Seen>(ids.length)
    const calls = [...byProducer(ids)].flatMap(([producer, events]) =>
      pieces(events).map((piece) => ({ producer, piece })),
    )
    await Promise.all(
      calls.map(async ({ producer, piece }) => {
        const { reply } = await redis.runScript({
          script: claimIds,
          keys: [keys + encodeKey(['ids', producer])],
          args: [action, String(claimMs), String(ttlMs), String(mostRuns), ...piece.map(({ seq }) => String(seq))],
          withinMs,
          lane: 'values',
        })
        if (action === 'claim') for (const { index } of piece) seen[index] = replies[Number(reply.read())]!
      }),
    )
    return seen
  }

  return {
    claim: (ids) => run('claim', ids),
    finish: async (ids) => void (await run('finish', ids)),
    release: async (ids) => void (await run('release', ids)),
    close: () => Promise.resolve(release()).then(() => {}),
  }
}

interface Indexed {
  readonly seq: number
  /** The index of the event in the batch. */
  readonly index: number
}

function byProducer(ids: readonly string[]): ReadonlyMap<string, readonly Indexed[]> {
  const producers = new Map<string, Indexed[]>()
  for (const [index, id] of ids.entries()) {
    const { producer, seq } = splitId(id)
    const events = producers.get(producer)
    if (events) events.push({ seq, index })
    else producers.set(producer, [{ seq, index }])
  }
  return producers
}

function pieces(events: readonly Indexed[]): readonly (readonly Indexed[])[] {
  const all: (readonly Indexed[])[] = []
  for (let at = 0; at < events.length; at += mostPerCall) all.push(events.slice(at, at + mostPerCall))
  return all
}
