import type { Options } from 'express-rate-limit'
import { Redis } from 'ioredis'
import { type RedisReply, RedisStore } from 'rate-limit-redis'
import type { Contender, Setup } from './contender.ts'

/** The store of express-rate-limit on Redis, without the middleware around it. */
export async function open({ redisUrl, prefix, limits }: Setup): Promise<Contender<{ totalHits: number }>> {
  const client = new Redis(redisUrl)
  const { amount, seconds } = limits[0]!
  const store = new RedisStore({
    sendCommand: (command: string, ...args: string[]) => client.call(command, ...args) as Promise<RedisReply>,
    prefix: `${prefix}:`,
  })
  await store.init({ windowMs: seconds * 1000 } as Options)
  return {
    decide: (subject) => store.increment(subject),
    allowed: ({ totalHits }) => totalHits <= amount,
    async close() {
      client.disconnect()
    },
  }
}
