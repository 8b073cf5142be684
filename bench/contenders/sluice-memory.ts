import { createLimiter, type Decision, type Limiter, memoryStore } from 'sluice'
import { planSubjects, subjectNames } from '../measure/subjects.ts'
import type { Contender, Setup } from './contender.ts'
import { allowedExactly, benchPolicyOf } from './sluice-policy.ts'

/** How many keys are looked up at a time. */
const atOnce = 64

export async function open(setup: Setup): Promise<Contender<Decision>> {
  const { plans } = setup
  const store = memoryStore({ maxSubjects: 2_000_000 })
  const lookups = { plans: { get: () => 'plan', maxKeys: plans ?? 1, refresh: '1h', atOnce } } as const
  const limiter = await createLimiter({ policy: benchPolicyOf(setup), store, ...(plans ? { lookups } : {}) })
  if (plans !== undefined) await lookUpAll(limiter, plans)
  return { decide: (subject) => limiter.take(subject), allowed: allowedExactly, close: () => limiter.close() }
}

async function lookUpAll(limiter: Limiter, plans: number): Promise<void> {
  const subjects = subjectNames(planSubjects)
  const every = plans / planSubjects
  for (let at = 0; at < plans; at += atOnce) {
    const keys = Array.from({ length: Math.min(atOnce, plans - at) }, (_, i) =>
      (at + i) % every === 0 ? subjects[(at + i) / every]! : `plan-${at + i}`,
    )
    await Promise.all(keys.map((key) => limiter.take(key)))
  }
}
