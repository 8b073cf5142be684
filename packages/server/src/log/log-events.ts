import type { Logger } from 'pino'
import type { Limiter, LimiterEvents } from 'sluice'
import { sampled } from './sampled.ts'

/** Writes what a limiter does to the log: changes always, denials and failures as a sample. */
export function logEvents(limiter: Limiter, log: Logger, now: () => number = () => performance.now()): () => void {
  const denials = sampled(log, 'info', now)
  const failures = sampled(log, 'warn', now)
  let isOpen = false
  const ends = [
    limiter.on('decided', ({ decision, subjects, cost }: LimiterEvents['decided']) => {
      if (decision.allowed) return
      const { rule, reason, retryAfterMs, degraded } = decision
      denials('denied', () => ({ rule, reason, subjects, cost, retryAfterMs, degraded }))
    }),
    limiter.on('storeFailed', ({ kind, error }) => failures('the store failed', () => ({ kind, err: error }))),
    limiter.on('evicted', ({ keys }) => log.error({ keys }, 'redis evicted keys: what was spent may be forgotten')),
    limiter.on('breakerChanged', ({ state }) => {
      // During an outage it tries again and again: half-open, open, half-open. Only the first and the last change are
      // news.
      const news = state === 'closed' ? isOpen : state === 'open' && !isOpen
      if (state !== 'half-open') isOpen = state === 'open'
      log[!news ? 'debug' : state === 'closed' ? 'info' : 'warn']({ state }, 'the breaker changed')
    }),
    limiter.on('policyLoaded', ({ version, source }) => log.info({ version, source }, 'a policy is in force')),
    limiter.on('policyRejected', ({ source, error }) => log.error({ source, err: error }, 'a policy was refused')),
  ]
  return () => {
    for (const end of ends) end()
  }
}
