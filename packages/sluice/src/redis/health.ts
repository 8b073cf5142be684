import type { Clock } from '../core/clock.ts'
import { StoreError } from '../core/errors.ts'
import type { StoreHealth } from '../core/observe/store-health.ts'
import type { Deadlines } from '../runtime/deadlines.ts'
import type { RedisConnection } from './connection/connection.ts'
import { redisFailure } from './failure.ts'
import { parseInfo, type ServerFacts, serverFacts } from './info.ts'
import { missingRight } from './missing-right.ts'

/** Asks Redis how it is, and says what would endanger exact limits. */
export async function redisHealth(
  connection: RedisConnection,
  withinMs: number,
  deadlines: Deadlines,
  clock: Clock,
): Promise<StoreHealth> {
  const startMs = clock.monotonic()
  try {
    const late = (): Error => new StoreError('timeout', 'no answer before the deadline')
    // A part without a call has no connection yet, and a command before the first attempt would fail at once.
    const asked = connection.attempted.then(() => connection.command(['INFO'], {}))
    const info = await deadlines.inTime(asked, startMs + withinMs, late)
    const roundTripMs = clock.monotonic() - startMs
    const facts = serverFacts(parseInfo(String(info)))
    return { reachable: true, roundTripMs, warnings: warningsFor(facts), details: { ...facts } }
  } catch (error) {
    // It answers, and the account lacks a right: whether that one is needed shows by what fails.
    const right = missingRight(redisFailure(error))
    if (right !== undefined && /NOPERM/.test((error as Error).message))
      return { reachable: true, roundTripMs: clock.monotonic() - startMs, warnings: [right], details: {} }
    return {
      reachable: false,
      roundTripMs: clock.monotonic() - startMs,
      warnings: [right ?? `Redis is not reachable: ${(error as Error).message}`],
      details: {},
    }
  }
}

function warningsFor(facts: ServerFacts): string[] {
  const { maxmemory, evictionPolicy, evictedKeys } = facts
  const warnings: string[] = []
  if (mayEvict(facts)) {
    const when = maxmemory > 0 ? `when it reaches its ${maxmemory} bytes` : 'once a maxmemory is set'
    warnings.push(
      `Redis may evict limiter keys ${when} (maxmemory-policy ${evictionPolicy}), which forgets what was spent; use noeviction.`,
    )
  }
  if (evictedKeys > 0)
    warnings.push(`Redis has evicted ${evictedKeys} keys since it started; some may have been limiter keys.`)
  return warnings
}

/** Whether the server may drop keys of ours to make room. All of them have a time to live, so `volatile-*` may too. */
function mayEvict({ evictionPolicy }: ServerFacts): boolean {
  return evictionPolicy.startsWith('allkeys') || evictionPolicy.startsWith('volatile')
}
