import { createLimiter, type Decision, type Limiter, memoryStore } from 'sluice'
import { planKeys } from '../measure/subjects.ts'
import type { Contender, Setup } from './contender.ts'
import { allowedExactly, benchPolicyOf } from './sluice-policy.ts'

/** How many keys are looked up at a time. */
const atOnce = 64

export async function open(setup: Setup): Promise<Contender<Decision>> {
  const { plans, asked = 1 } = setup
  const store = memoryStore({ maxSubjects: 2_000_000 })
  const lookups = { plans: { get: () => 'plan', maxKeys: plans ?? 1, refresh: '1h', atOnce } } as const
  const limiter = await createLimiter({ policy: benchPolicyOf(setup), store, ...(plans ? { lookups } : {}) })
  if (plans !== undefined) await lookUpAll(limiter, planKeys(plans, asked))
  return { decide: (subject) => limiter.take(subject), allowed: allowedExactly, close: () => limiter.close() }
}

async function lookUpAll(limiter: Limiter, keys: Iterable<string>): Promise<void> {
  const asking: Promise<Decision>[] = []
  for (const key of keys) {
    asking.push(limiter.take(key))
    if (asking.length === atOnce) await Promise.all(asking.splice(0))
  }
  await Promise.all(asking)
}
