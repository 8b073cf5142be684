import Bottleneck from 'bottleneck'
import type { Contender, Setup } from '../contenders/contender.ts'
import { narrowLimit, wideLimit } from './limits.ts'

/** Jobs of bottleneck, in cluster mode where there is a Redis. */
export async function open({ redisUrl, prefix }: Setup): Promise<Contender<boolean>> {
  const url = redisUrl === '' ? undefined : new URL(redisUrl)
  const cluster = url && {
    id: prefix,
    datastore: 'ioredis' as const,
    clearDatastore: false,
    clientOptions: { host: url.hostname, port: Number(url.port) },
  }
  const limiter = new Bottleneck({ ...cluster, maxConcurrent: (url ? narrowLimit : wideLimit).amount })
  await limiter.ready()
  return {
    decide: () => limiter.schedule(async () => true),
    allowed: (answer) => answer,
    close: () => limiter.disconnect(),
  }
}
