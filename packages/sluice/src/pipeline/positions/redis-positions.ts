import { encodeKey } from '../../core/key.ts'
import type { RedisHandle } from '../../redis/handle.ts'
import { namespaceOf } from '../../redis/namespaces.ts'
import type { Script } from '../../redis/script.ts'
import { withRedis } from '../../redis/use-redis.ts'
import { change, claim as claimScript, list } from '../scripts.gen.ts'
import type { Claim, Positions } from './positions.ts'

interface Entry {
  readonly epoch: number
  readonly owner?: string
  readonly untilUs: number
  readonly next?: string
  readonly done: boolean
  readonly source?: string
}

const withinMs = 2000
/** How long the positions of a pipeline that nobody runs any more are kept. */
const keptMs = 30 * 86_400_000

/** Keeps positions and claims in Redis, by the clock of its server. */
export function redisPositions(handle: RedisHandle): Positions {
  const run = (script: Script, pipeline: string, args: readonly string[]): Promise<{ value: unknown; nowUs: number }> =>
    withRedis(handle, 'redisPositions', async (redis) => {
      const key = namespaceOf('pipeline', handle.service, handle.prefix) + encodeKey(pipeline)
      const { reply, nowUs } = await redis.runScript({ script, keys: [key], args, withinMs })
      return { value: reply.read(), nowUs }
    })
  const changeEntry = async (claim: Claim, lease: string, fields: object): Promise<boolean> => {
    const args = [claim.partition, String(claim.epoch), lease, JSON.stringify(fields), String(keptMs)]
    return (await run(change, claim.pipeline, args)).value === 1
  }
  return {
    async list(pipeline) {
      const { value, nowUs } = await run(list, pipeline, [])
      const flat = value as string[]
      return Array.from({ length: flat.length / 2 }, (_, i) => {
        const entry = JSON.parse(flat[i * 2 + 1]!) as Entry
        const owner = entry.untilUs > nowUs ? entry.owner : undefined
        return { ...claimOf(pipeline, flat[i * 2]!, entry), owner }
      })
    },
    async claim(pipeline, partition, worker, leaseMs) {
      const args = [partition, worker, String(leaseMs * 1000), String(keptMs)]
      const { value } = await run(claimScript, pipeline, args)
      return value === '' ? undefined : claimOf(pipeline, partition, JSON.parse(value as string) as Entry)
    },
    extend: (claim, leaseMs) => changeEntry(claim, String(leaseMs * 1000), {}),
    save: (claim, { next = null, done, source = null }) => changeEntry(claim, '', { next, done, source }),
    async release(claim) {
      await changeEntry(claim, '0', {})
    },
  }
}

function claimOf(pipeline: string, partition: string, { epoch, next, done, source }: Entry): Claim {
  return { pipeline, partition, epoch, next, done, source }
}
