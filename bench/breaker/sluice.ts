import { createBreaker } from 'sluice/breaker'
import type { Contender, Setup } from '../contenders/contender.ts'
import { call, contenderOf, fail, failuresToOpen, fallback } from './call.ts'

export async function open({ isOpen = false, hasRate = false }: Setup): Promise<Contender<boolean>> {
  const breaker = createBreaker(hasRate ? { failureRate: {} } : { failures: 5 })
  if (!isOpen) return contenderOf(() => breaker.run(call))
  for (let i = 0; i < failuresToOpen; i++) await breaker.run(fail, { fallback })
  return contenderOf(() => breaker.run(call, { fallback }))
}
