import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Cluster } from 'ioredis'
import { expect, test } from 'vitest'
import { createLimiter } from '../../packages/sluice/src/limiter/create-limiter.ts'
import { slotOf } from '../../packages/sluice/src/redis/slots.ts'
import { openRedis } from '../../packages/sluice/src/stores/redis/open-redis.ts'
import { receiptTtlUs } from '../../packages/sluice/src/stores/redis/take-across-slots.ts'
import { startCluster } from '../../packages/sluice/src/testing/servers/cluster.ts'
import { stranded } from './policy.ts'

const users = 200
/** Makes a subject look older by so much: every time in its value is relative to the first field. */
const age = `local p = cmsgpack.unpack(redis.call('GET', KEYS[1]))
p[1] = p[1] - ARGV[1]
redis.call('SET', KEYS[1], cmsgpack.pack(p), 'KEEPTTL')`

test('units of denied decisions of a process that was killed come back after a minute, at limits of an hour', {
  timeout: 90_000,
}, async () => {
  const cluster = await startCluster({ replicas: 0 })
  const nodes = cluster.nodes.map(({ port }) => ({ host: '127.0.0.1', port }))
  const client = new Cluster(nodes, { lazyConnect: true })
  const limiter = await createLimiter({ policy: stranded, redis: openRedis(client), deadline: 5000 })
  const used = async (): Promise<number[]> =>
    Promise.all(
      Array.from({ length: users }, async (_, u) => {
        const { limits } = await limiter.inspect(`u${u}`, { rule: 'user' })
        return limits[0]!.amount - limits[0]!.remaining
      }),
    )
  try {
    const script = fileURLToPath(new URL('child/denied-across-slots.ts', import.meta.url))
    const args = [nodes.map(({ port }) => port).join(','), String(users)]
    const child = fork(script, args, { execArgv: ['--import', 'tsx'] })
    const [, signal] = await once(child, 'exit')
    expect(signal).toBe('SIGKILL')

    const left = (await used()).flatMap((units, u) => (units > 0 ? [u] : []))
    expect(left.length).toBeGreaterThan(0)
    for (const u of left) {
      const key = `sluice:stranded/user/u${u}`
      await (await cluster.masterOf(slotOf(key))).cli('EVAL', age, '1', key, String(receiptTtlUs - 5_000_000))
    }
    expect((await used()).filter((units) => units > 0)).toHaveLength(left.length)
    for (const u of left) {
      const key = `sluice:stranded/user/u${u}`
      await (await cluster.masterOf(slotOf(key))).cli('EVAL', age, '1', key, '5000000')
    }
    expect((await used()).filter((units) => units > 0)).toEqual([])
  } finally {
    await limiter.close()
    client.disconnect()
    await cluster.stop()
  }
})
