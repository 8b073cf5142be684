import { setImmediate } from 'node:timers/promises'
import {
  createLimiter,
  type Decision,
  type Limiter,
  type LimiterOptions,
  memoryStore,
  type PolicyDocument,
} from 'sluice'
import { openPolicy } from 'sluice/policy'
import type { LookupFunctions } from '../../lookups.ts'
import { optionsOf } from '../../options-of.ts'
import type { KeptRequest } from './request-ring.ts'

/** What a policy makes of one request. */
export interface Replayed {
  readonly allowed: boolean
  /** The rule that denied. */
  readonly rule: string | undefined
  /** The readable keys that were charged, or would have been. */
  readonly subjects: readonly string[]
  /** Shadow rules that would have denied. */
  readonly shadow: readonly string[]
}

export interface ReplayOptions {
  readonly env: Readonly<Record<string, string | undefined>>
  /** What knows tiers by key; without it the default of a rule holds. */
  readonly lookups?: LookupFunctions | undefined
  /** Requests between two turns of the event loop: the daemon decides meanwhile. */
  readonly sliceLength?: number
}

/** Decides on requests as if they came again at the times they came, with counters of their own that start empty. */
export async function replay(
  document: unknown,
  requests: readonly KeptRequest[],
  { env, lookups, sliceLength = 50 }: ReplayOptions,
): Promise<readonly Replayed[]> {
  const clock = replayClock(requests[0]?.atMs ?? 0)
  const store = memoryStore({ clock })
  const policy = await openPolicy(document as PolicyDocument, { env, clock, lookups })
  const limiter = await createLimiter({ policy, store, clock, replicas: 1, denyCache: false })
  let subjects: readonly string[] = []
  limiter.on('decided', (event) => {
    subjects = event.subjects
  })
  const outcomes: Replayed[] = []
  try {
    for (const [i, request] of requests.entries()) {
      if (i % sliceLength === sliceLength - 1) await setImmediate()
      clock.moveTo(request.atMs)
      subjects = []
      const decision = await decide(limiter, request)
      outcomes.push({
        allowed: decision?.allowed ?? true,
        rule: decision?.allowed === false ? decision.rule : undefined,
        subjects,
        shadow: decision?.shadow.filter(({ allowed }) => !allowed).map(({ rule }) => rule) ?? [],
      })
    }
    return outcomes
  } finally {
    await limiter.close()
    await policy.close()
    await store.close()
  }
}

/** Undefined when the policy has no such rule: then nothing limits the request. */
async function decide(limiter: Limiter, { asked }: KeptRequest): Promise<Decision | undefined> {
  if ('request' in asked) return limiter.check(asked.request, optionsOf(asked))
  try {
    return await limiter.take(asked.key, optionsOf(asked))
  } catch {
    return undefined
  }
}

type Clock = NonNullable<LimiterOptions['clock']>

/** A clock that shows the time of the request that is replayed. Nothing waits in a replay, so no timer ever fires. */
interface ReplayClock extends Clock {
  /** Moves on, never back: two requests may have been noted out of order. */
  moveTo(ms: number): void
}

function replayClock(startMs: number): ReplayClock {
  let nowMs = startMs
  return {
    now: () => Math.round(nowMs * 1000),
    wall: () => nowMs,
    monotonic: () => nowMs - startMs,
    setTimeout: () => ({ unref: () => undefined }),
    clearTimeout: () => {},
    moveTo(ms) {
      nowMs = Math.max(nowMs, ms)
    },
  }
}
