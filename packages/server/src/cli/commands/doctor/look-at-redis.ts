import { parseInfo } from 'sluice/redis'
import { tryRedis } from '../../../config/try-redis.ts'
import type { RedisTarget } from '../../../connections/redis-target.ts'
import { openStore } from '../../target/open-store.ts'
import type { Progress } from '../../terminal/progress.ts'
import { type Asked, examineRedis } from './examine-redis.ts'
import type { Finding } from './finding.ts'
import { judgeCluster } from './judge-redis.ts'
import { failed } from './remedies.ts'

/** Connects to a Redis and looks at it; or says why it could not. */
export async function lookAtRedis(target: RedisTarget, asked: Asked, shown: Pick<Progress, 'at'>): Promise<Finding[]> {
  shown.at(0, `connecting to ${target.description}`)
  try {
    const redis = await openStore(target)
    try {
      const found = await examineRedis(redis.client, asked, (share, what) => shown.at(share * 0.6, what))
      return [{ about: 'redis', level: 'ok', text: redis.description }, ...found]
    } finally {
      await redis.close()
    }
  } catch (error) {
    const slots = await examineSlots(target)
    return slots.length > 0 ? slots : [failed('redis', '', error as Error, asked.prefix)]
  }
}

/** A cluster without all of its slots lets no client in; its nodes still say what is missing. */
async function examineSlots(target: RedisTarget): Promise<Finding[]> {
  if (target.kind !== 'cluster') return []
  const { nodeClient } = await import('../../../connections/redis-client.ts')
  for (const host of target.hosts) {
    const node = nodeClient(target, host)
    try {
      await tryRedis(node, 2000)
      return [judgeCluster(parseInfo((await node.cluster('INFO')) as string))]
    } catch {
      // The next one may answer.
    } finally {
      node.disconnect()
    }
  }
  return []
}
