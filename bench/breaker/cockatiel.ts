import { ConsecutiveBreaker, circuitBreaker, handleAll, fallback as instead, SamplingBreaker, wrap } from 'cockatiel'
import type { Contender, Setup } from '../contenders/contender.ts'
import { call, contenderOf, fail, failuresToOpen, fallback } from './call.ts'

export async function open({ isOpen = false, hasRate = false }: Setup): Promise<Contender<boolean>> {
  const breaker = circuitBreaker(handleAll, {
    halfOpenAfter: 60_000,
    breaker: hasRate ? new SamplingBreaker({ threshold: 0.5, duration: 10_000 }) : new ConsecutiveBreaker(5),
  })
  if (!isOpen) return contenderOf(() => breaker.execute(call))
  const policy = wrap(instead(handleAll, fallback), breaker)
  for (let i = 0; i < failuresToOpen; i++) await policy.execute(fail)
  return contenderOf(() => policy.execute(call))
}
