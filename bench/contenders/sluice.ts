import { Redis } from 'ioredis'
import { createLimiter, type Decision } from 'sluice'
import { openRedis } from 'sluice/redis'
import type { Contender, Setup } from './contender.ts'
import { allowedExactly, benchPolicyOf } from './sluice-policy.ts'

/** Sluice with its defaults on Redis: deadline, breaker, events and all. */
export async function open(setup: Setup): Promise<Contender<Decision>> {
  const { instances = 1 } = setup
  const opened = await Promise.all(Array.from({ length: instances }, () => openOne(setup)))
  const limiters = opened.map(({ limiter }) => limiter)
  const first = limiters[0]!
  return {
    decide:
      instances === 1 ? (subject) => first.take(subject) : (subject, lane) => limiters[lane % instances]!.take(subject),
    allowed: allowedExactly,
    async close() {
      for (const { limiter, client } of opened) {
        await limiter.close()
        client.disconnect()
      }
    },
  }
}

async function openOne(setup: Setup) {
  const client = new Redis(setup.redisUrl)
  // The source would be used only if Redis failed.
  const recount = setup.daily === 'cap' ? { recount: { bench: () => 0 } } : {}
  return {
    client,
    limiter: await createLimiter({
      policy: benchPolicyOf(setup),
      redis: openRedis(client, { reports: setup.isUnreported !== true }),
      ...recount,
    }),
  }
}
