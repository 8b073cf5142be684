import { StoreError } from '../core/errors.ts'
import type { StoreHealth } from '../core/store-health.ts'
import type { Deadlines } from '../timing/deadlines.ts'
import type { RedisConnection } from './client.ts'

/** Asks Redis how it is, and says what would endanger exact limits. */
export async function redisHealth(
  connection: RedisConnection,
  withinMs: number,
  deadlines: Deadlines,
): Promise<StoreHealth> {
  const startMs = performance.now()
  try {
    const info = await deadlines.inTime(connection.command('INFO'), startMs + withinMs)
    if (info === undefined) throw new StoreError('timeout', 'no answer before the deadline')
    const roundTripMs = performance.now() - startMs
    const field = fields(String(info))
    const details = {
      version: field.get('valkey_version') ?? field.get('redis_version') ?? 'unknown',
      mode: field.get('redis_mode') ?? field.get('server_mode') ?? 'unknown',
      role: field.get('role') ?? 'unknown',
      maxmemory: Number(field.get('maxmemory') ?? 0),
      evictionPolicy: field.get('maxmemory_policy') ?? 'unknown',
      evictedKeys: Number(field.get('evicted_keys') ?? 0),
    }
    return { reachable: true, roundTripMs, warnings: warningsFor(details), details }
  } catch (error) {
    return {
      reachable: false,
      roundTripMs: performance.now() - startMs,
      warnings: [`Redis is not reachable: ${(error as Error).message}`],
      details: {},
    }
  }
}

function fields(info: string): Map<string, string> {
  return new Map(
    info
      .split(/\r?\n/)
      .filter((line) => line.includes(':'))
      .map((line) => line.split(/:(.*)/s, 2) as [string, string]),
  )
}

function warningsFor({
  maxmemory,
  evictionPolicy,
  evictedKeys,
}: {
  maxmemory: number
  evictionPolicy: string
  evictedKeys: number
}): string[] {
  const warnings: string[] = []
  if (evictionPolicy.startsWith('allkeys') || evictionPolicy.startsWith('volatile')) {
    const when = maxmemory > 0 ? `when it reaches its ${maxmemory} bytes` : 'once a maxmemory is set'
    warnings.push(
      `Redis may evict limiter keys ${when} (maxmemory-policy ${evictionPolicy}), which forgets what was spent; use noeviction.`,
    )
  }
  if (evictedKeys > 0)
    warnings.push(`Redis has evicted ${evictedKeys} keys since it started; some may have been limiter keys.`)
  return warnings
}
