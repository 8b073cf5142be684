import type { Logger } from 'pino'
import type { Limiter, LimiterEvents } from 'sluice'
import type { Egress } from 'sluice/egress'

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
  return () => ends.forEach((end) => void end())
}

/** Writes to the log what happens to upstreams beside single calls, which have a line of their own. */
export function logEgress(egress: Egress, log: Logger): () => void {
  const pauses = sampled(log, 'warn')
  const retries = sampled(log, 'info')
  const failures = sampled(log, 'warn')
  const ends = [
    egress.on('paused', ({ upstream, scope, ms, status }) =>
      pauses('the vendor asked to wait', () => ({ upstream, ...(scope === '' ? {} : { scope }), pauseMs: ms, status })),
    ),
    egress.on('widened', ({ upstream, arrivalMs }) =>
      log.warn(
        { upstream, arrivalMs },
        'the vendor refused although there was room; calls count as longer on their way',
      ),
    ),
    egress.on('stateMissed', ({ upstream, ms }) =>
      log.warn({ upstream, ms }, 'the shared state of an upstream was lost, or is new; nothing is granted meanwhile'),
    ),
    egress.on('paced', ({ upstream, ms }) =>
      log.warn({ upstream, ms }, 'earlier calls are not known; calls are paced meanwhile, to under twice a limit'),
    ),
    egress.on('retried', ({ upstream, attempt, delayMs, reason }) =>
      retries('a call is made again', () => ({ upstream, attempt, delayMs: Math.round(delayMs), reason })),
    ),
    egress.on('storeFailed', ({ upstream, error }) =>
      failures('the shared state of an upstream cannot be reached', () => ({ upstream, err: error })),
    ),
    egress.on('policyLoaded', ({ version, source }) => log.info({ version, source }, 'upstreams follow a new policy')),
    egress.on('policyRejected', ({ source, error }) => log.error({ source, err: error }, 'a policy was refused')),
  ]
  return () => ends.forEach((end) => void end())
}

/** Most lines of one kind that are logged in a second; the others are only counted. */
const perSecond = 10

/** Logs the first few of each second, and with the next one how many were left out. */
export function sampled(
  log: Logger,
  level: 'info' | 'warn',
  now: () => number = () => performance.now(),
): (message: string, fields: () => object) => void {
  let second = -1
  let count = 0
  let suppressed = 0
  return (message, fields) => {
    const present = Math.floor(now() / 1000)
    if (present !== second) [second, count] = [present, 0]
    if (++count > perSecond) {
      suppressed++
      return
    }
    log[level](suppressed > 0 ? { ...fields(), suppressed } : fields(), message)
    suppressed = 0
  }
}
