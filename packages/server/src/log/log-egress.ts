import type { Logger } from 'pino'
import type { Egress } from 'sluice/egress'
import { sampled } from './sampled.ts'

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
  return () => {
    for (const end of ends) end()
  }
}
