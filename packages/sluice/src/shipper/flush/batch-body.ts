import { eventId } from '../log/segment-name.ts'
import type { StoredEvent } from '../log/segment-reader.ts'
import { framingBytes } from '../log/segment-reader.ts'

const open = '{"events":['
const close = ']}'

/** The body of a batch, put together from the stored bytes: they are JSON already, and nothing is parsed to be sent. */
export function batchBody(events: readonly StoredEvent[]): Buffer {
  const size = events.reduce((sum, { payload }) => sum + payload.length + framingBytes, open.length + close.length)
  const body = Buffer.allocUnsafeSlow(size)
  let at = body.write(open, 0, 'latin1')
  for (const [i, { producer, seq, payload }] of events.entries()) {
    at += body.write(`${i === 0 ? '' : ','}{"id":"${eventId(producer, seq)}","data":`, at, 'latin1')
    at += payload.copy(body, at)
    at += body.write('}', at, 'latin1')
  }
  at += body.write(close, at, 'latin1')
  return body.subarray(0, at)
}
