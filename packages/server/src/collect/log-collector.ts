import type { Logger } from 'pino'
import type { Capacity, Ingest } from 'sluice/capacity'
import { sampled } from '../log/sampled.ts'

/** Logs what a collector could not take in, and what it tells shippers; the returned function ends that. */
export function logCollector(capacity: Capacity, ingest: Ingest, log: Logger): () => void {
  const warn = sampled(log, 'warn')
  const stops = [
    ingest.on('failed', ({ events, error }) => warn('events could not be stored', () => ({ events, err: error }))),
    ingest.on('refused', ({ reason }) => warn('a batch was refused', () => ({ reason }))),
    capacity.on('policyRejected', ({ source, error }) => log.error({ source, err: error }, 'policy refused')),
    capacity.on('rowChanged', (row) => {
      const { percent, cause } = capacity.load
      const load = { loadPercent: Math.round(percent), cause }
      if (row === undefined) log.warn(load, 'shippers are told to wait')
      else log.info({ maxBatchSize: row.maxBatchSize, delayMs: row.delayMs, ...load }, 'shippers are told another rate')
    }),
  ]
  return () => {
    for (const stop of stops) stop()
  }
}
