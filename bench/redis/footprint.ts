import { Redis } from 'ioredis'
import { loadContender } from '../contenders/index.ts'
import { count } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'

const keyLength = 40
const most = 150
const limits = [
  { amount: 20, seconds: 1 },
  { amount: 1000, seconds: 60 },
  { amount: 50_000, seconds: 3600 },
  { amount: 100_000, seconds: 86_400 },
]

/** MEMORY USAGE of one subject with four limits, summed over the keys that it has. */
export async function redisFootprint(redisUrl: string): Promise<CaseResult> {
  progress('redis: bytes per subject')
  const client = new Redis(redisUrl)
  try {
    const ours = await bytesOf(client, redisUrl, 'sluice')
    const theirs = await bytesOf(client, redisUrl, 'rate-limiter-flexible')
    return {
      section: 'redis',
      title: `bytes per subject in Redis, 4 limits, keys of ${keyLength} characters`,
      table: [
        ['contender', 'keys', 'bytes', 'ours is'],
        ['sluice', count(ours.keys), count(ours.bytes), ''],
        ['RateLimiterUnion', count(theirs.keys), count(theirs.bytes), `1/${(theirs.bytes / ours.bytes).toFixed(1)}`],
      ],
      figures: { ours, theirs },
      targets: [
        {
          claim: `at most ${most} bytes`,
          ours: count(ours.bytes),
          peer: count(theirs.bytes),
          figure: `${count(ours.bytes)} bytes`,
          met: ours.bytes <= most,
        },
      ],
    }
  } finally {
    client.disconnect()
  }
}

async function bytesOf(
  client: Redis,
  redisUrl: string,
  name: 'sluice' | 'rate-limiter-flexible',
): Promise<{ keys: number; bytes: number }> {
  const open = await loadContender(name)
  const contender = await open({ redisUrl, prefix: 'bench', limits })
  try {
    // A first, short subject shows how much of a key is not the subject.
    await client.flushall()
    await contender.decide('s', 0)
    const around = Math.max(...(await client.keys('*')).map((key) => key.length)) - 1
    await client.flushall()
    const subject = 's'.repeat(keyLength - around)
    // A subject in use: its counts are no longer the smallest numbers.
    for (let time = 0; time < 15; time++) await contender.decide(subject, 0)
    const keys = await client.keys('*')
    const bytes = await Promise.all(keys.map((key) => client.memory('USAGE', key)))
    return { keys: keys.length, bytes: bytes.reduce((sum: number, one) => sum + (one ?? 0), 0) }
  } finally {
    await contender.close()
  }
}
