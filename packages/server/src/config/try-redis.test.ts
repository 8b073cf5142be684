import { startRedis } from 'sluice/testing'
import { expect, test } from 'vitest'
import { redisClient } from '../connections/redis-client.ts'
import { parseRedisUrl } from '../connections/redis-target.ts'
import { tryRedis } from './try-redis.ts'

test('TLS to a port without it is named as such', async () => {
  const redis = await startRedis()
  const client = redisClient(parseRedisUrl(`rediss://127.0.0.1:${redis.port}`, '--redis'))
  try {
    await expect(tryRedis(client, 1000)).rejects.toThrow(
      `127.0.0.1:${redis.port} speaks Redis without TLS; use redis:// instead of rediss://`,
    )
  } finally {
    client.disconnect()
    await redis.stop()
  }
})
