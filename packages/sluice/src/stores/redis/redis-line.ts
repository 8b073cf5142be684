import type { Redis } from '../../redis/redis.ts'
import type { WaitLine, Waits } from '../store.ts'
import { line } from './scripts.gen.ts'

/** Keeps in Redis who waits for the same units. */
export function redisLine(prefix: string, redis: () => Redis): WaitLine {
  return {
    async stand(key, process, waits, forMs, withinMs) {
      const pairs = waits.flatMap(({ units, forUs }) => [String(units), String(Math.round(forUs))])
      // No counter begins so: a service whose name starts with `#` is escaped.
      const keys = [`${prefix}#line/${key}`]
      const { reply } = await redis().runScript({
        script: line,
        keys,
        args: [process, String(forMs), ...pairs],
        withinMs,
      })
      return (reply.read() as number[][]).map(toWaits)
    },
  }
}

function toWaits(pairs: readonly number[]): Waits[] {
  const waits: Waits[] = []
  for (let p = 0; p < pairs.length; p += 2) waits.push({ units: pairs[p]!, forUs: pairs[p + 1]! })
  return waits
}
