import { encodeKey } from '../../core/key.ts'
import type { RedisHandle } from '../../redis/handle.ts'
import { namespaceOf } from '../../redis/namespaces.ts'
import { useRedis } from '../../redis/use-redis.ts'
import { splitId } from './read-batch.ts'
import { claimIds } from './scripts.gen.ts'
import { claimMs, mostRuns, type Seen, type SeenIds } from './seen-ids.ts'

/** How many events of one producer go into one call: Lua returns a limited number of values. */
const mostPerCall = 1000
const withinMs = 5000
const replies: readonly Seen[] = ['new', 'pending', 'done']

/** Remembers ids in Redis, so that all collectors of a service drop what any of them has accepted. */
export function redisIds(handle: RedisHandle, ttlMs: number): SeenIds {
  const { redis, service, prefix, release } = useRedis(handle, 'createIngest.redis')
  const keys = namespaceOf('capacity', service, prefix)

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
    isReachable: async (askedWithinMs) => {
      // On the socket that claims use.
      const answer = redis.command(['PING'], { withinMs: askedWithinMs, lane: 'values' })
      return answer.then(
        () => true,
        () => false,
      )
    },
    close: release,
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
