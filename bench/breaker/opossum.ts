import CircuitBreaker from 'opossum'
import type { Contender, Setup } from '../contenders/contender.ts'
import { call, contenderOf, failuresToOpen, fallback } from './call.ts'

/** It has a failure rate only. Without a timeout of its own, as the others; the rest are its defaults. */
export async function open({ isOpen = false }: Setup): Promise<Contender<boolean>> {
  const breaker = new CircuitBreaker(call, { timeout: false, resetTimeout: 60_000 })
  if (isOpen) {
    breaker.fallback(fallback)
    breaker.open()
    for (let i = 0; i < failuresToOpen; i++) await breaker.fire()
  }
  return contenderOf(
    () => breaker.fire(),
    () => breaker.shutdown(),
  )
}
