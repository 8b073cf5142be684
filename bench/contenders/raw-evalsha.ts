import { Redis } from 'ioredis'
import type { Contender, Setup } from './contender.ts'

// About the least work for Redis with one script per decision.
const script = `
local hits = redis.call('INCR', KEYS[1])
if hits == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[1]) end
return hits
`

/** What one script call per decision costs with ioredis and no library at all. */
export async function open({ redisUrl, prefix, limits }: Setup): Promise<Contender<number>> {
  const client = new Redis(redisUrl)
  const { amount, seconds } = limits[0]!
  const sha = (await client.script('LOAD', script)) as string
  const periodMs = String(seconds * 1000)
  return {
    decide: (subject) => client.evalsha(sha, 1, `${prefix}:${subject}`, periodMs) as Promise<number>,
    allowed: (hits) => hits <= amount,
    async close() {
      client.disconnect()
    },
  }
}
