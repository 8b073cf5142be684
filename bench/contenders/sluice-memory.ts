import { createLimiter, type Decision, memoryStore } from 'sluice'
import type { Contender, Setup } from './contender.ts'
import { allowedExactly, benchPolicyOf } from './sluice-policy.ts'

export async function open(setup: Setup): Promise<Contender<Decision>> {
  const limiter = await createLimiter({ policy: benchPolicyOf(setup), store: memoryStore() })
  return { decide: (subject) => limiter.take(subject), allowed: allowedExactly, close: () => limiter.close() }
}
