import type { Shipper } from '../../shipper/shipper.ts'
import type { PipelineSink } from '../pipeline.ts'

/**
 * Hands records to a shipper; they are on its disk when they count as written. A full buffer slows the pipeline down. A
 * batch that is tried again is shipped again.
 *
 * @example shipperSink(shipper)
 */
export function shipperSink(shipper: Pick<Shipper, 'ship'>): PipelineSink {
  return { write: ({ records }) => Promise.all(records.map(({ value }) => shipper.ship(value))) }
}
