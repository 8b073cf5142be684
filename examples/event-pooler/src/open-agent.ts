import { createShipper, type Shipper } from 'sluice/shipper'

/** The shipper of one agent. */
export function openAgent(dir: string, endpoint: string, backoffMs: number): Promise<Shipper> {
  return createShipper({
    dir,
    endpoint,
    // All agents lose the collector at the same moment; with jitter they do not all return at the same moment.
    backoff: { base: backoffMs, jitter: 0.5 },
  })
}
