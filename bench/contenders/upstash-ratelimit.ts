import { createHash } from 'node:crypto'
import { Ratelimit } from '@upstash/ratelimit'
import { Redis } from 'ioredis'
import type { Contender, Setup } from './contender.ts'

type UpstashClient = ConstructorParameters<typeof Ratelimit>[0]['redis']

/** Its sliding window. By itself it uses HTTP to a hosted Redis; here an adapter lets it use RESP, which is faster. */
export async function open({ redisUrl, prefix, limits }: Setup): Promise<Contender<{ success: boolean }>> {
  const client = new Redis(redisUrl)
  const { amount, seconds } = limits[0]!
  const shas = new Map<string, string>()
  const adapter = {
    evalsha(sha: string, keys: string[], args: unknown[]) {
      const plain = shas.get(sha)
      if (plain === undefined) return Promise.reject(new Error('NOSCRIPT'))
      return client.evalsha(plain, keys.length, ...keys, ...args.map(String))
    },
    async eval(script: string, keys: string[], args: unknown[]) {
      // Redis refuses scripts with a flag that only the hosted service has.
      const plain = script.replace(/^#!lua flags=allow-key-locking\n/, '')
      shas.set(createHash('sha1').update(script).digest('hex'), (await client.script('LOAD', plain)) as string)
      return client.eval(plain, keys.length, ...keys, ...args.map(String))
    },
  }
  const ratelimit = new Ratelimit({
    redis: adapter as unknown as UpstashClient,
    limiter: Ratelimit.slidingWindow(amount, `${seconds} s`),
    prefix,
  })
  return {
    decide: (subject) => ratelimit.limit(subject),
    allowed: ({ success }) => success,
    async close() {
      client.disconnect()
    },
  }
}
