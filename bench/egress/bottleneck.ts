import Bottleneck from 'bottleneck'
import type { Contender, Setup } from '../contenders/contender.ts'
import { manyPlaces, places } from './places.ts'

/** Jobs of bottleneck, in cluster mode where there is a Redis. */
export async function open({ redisUrl, prefix }: Setup): Promise<Contender<boolean>> {
  const url = redisUrl === '' ? undefined : new URL(redisUrl)
  const cluster = url && {
    id: prefix,
    datastore: 'ioredis' as const,
    clearDatastore: false,
    clientOptions: { host: url.hostname, port: Number(url.port) },
  }
  const limiter = new Bottleneck({ ...cluster, maxConcurrent: (url ? places : manyPlaces).amount })
  await limiter.ready()
  return {
    decide: () => limiter.schedule(async () => true),
    allowed: (answer) => answer,
    close: () => limiter.disconnect(),
  }
}
