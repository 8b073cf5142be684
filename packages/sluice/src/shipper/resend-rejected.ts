import { Resending, type ResendReport } from './flush/resending.ts'
import { resolveOptions, type ShipperOptions } from './options.ts'
import { shipperId } from './owner/shipper-id.ts'
import type { RejectedEvent } from './rejected/rejected-lines.ts'
import { takeRejected } from './rejected/take-rejected.ts'
import { transportOf } from './transport-of.ts'

export type ResendOptions = Pick<
  ShipperOptions,
  | 'dir'
  | 'endpoint'
  | 'capacityEndpoint'
  | 'headers'
  | 'send'
  | 'capacity'
  | 'timeout'
  | 'maxBatchEvents'
  | 'maxRetries'
  | 'fs'
> & {
  /** Which of them are sent; all when left out. */
  readonly choose?: (event: RejectedEvent) => boolean
}

/**
 * Sends rejected events again, under their old ids, as fast as the server allows. Events that it accepts are removed
 * from the files; those that it refuses again stay, with the new reason. Can be used while a shipper works on the
 * directory.
 *
 * @example
 * await resendRejected({
 *   dir: 'buffer',
 *   endpoint: 'https://collector.example/v1/events',
 *   choose: ({ reason }) => reason.includes('unknown field'),
 * })
 */
export async function resendRejected({ choose = () => true, ...options }: ResendOptions): Promise<ResendReport> {
  const resolved = resolveOptions(options)
  const { fs, dir } = resolved
  const transport = transportOf(resolved, await shipperId(fs, dir), () => {})
  const resending = new Resending({ ...resolved, transport })
  await takeRejected(fs, dir, (events) => resending.send(events.filter(choose)))
  return resending.report
}
