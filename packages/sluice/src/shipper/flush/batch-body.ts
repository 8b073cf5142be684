import { eventId } from '../log/segment/segment-name.ts'

import { framingBytes } from '../log/segment/segment-reader.ts'
import type { StoredEvent } from '../log/segment/stored-event.ts'

const open = '{"events":['
const close = ']}'
const afterBytes = 64

/**
 * The body of a batch, assembled from the stored bytes: they are JSON already, so nothing is parsed to be sent. It is
 * written into `spare` if it fits. With `after` it names the last event of the batch before it, which is in flight.
 */
export function batchBody(events: readonly StoredEvent[], spare?: Buffer, after?: string): Buffer {
  const size = events.reduce(
    (sum, { from, to }) => sum + to - from + framingBytes,
    open.length + close.length + afterBytes,
  )
  const body = spare !== undefined && spare.length >= size ? spare : Buffer.allocUnsafeSlow(size)
  let at = body.write(open, 0, 'latin1')
  for (const [i, { producer, seq, bytes, from, to }] of events.entries()) {
    at += body.write(`${i === 0 ? '' : ','}{"id":"${eventId(producer, seq)}","data":`, at, 'latin1')
    at += bytes.copy(body, at, from, to)
    at += body.write('}', at, 'latin1')
  }
  at += body.write(after === undefined ? close : `],"after":"${after}"}`, at, 'latin1')
  return body.subarray(0, at)
}
