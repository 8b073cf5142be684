import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { eventId } from '../log/segment/segment-name.ts'
import { framingBytes } from '../log/segment/segment-reader.ts'
import type { StoredEvent } from '../log/segment/stored-event.ts'
import type { ResolvedShipperOptions } from '../options.ts'
import { capacityAnswerOf, orFailed, type SendAnswer } from './answers.ts'
import { type PostSettings, post, postBatch } from './post-batch.ts'
import { customTransport, type Transport } from './transport.ts'

const open = '{"events":['
const close = ']}'
const afterBytes = 64

/**
 * The body of a batch, assembled from the stored bytes: they are JSON already, so nothing is parsed to be sent. It is
 * written into `spare` if it fits. With `after` it names the last event of the batch before it, which is in flight.
 */
function batchBody(events: readonly StoredEvent[], spare?: Buffer, after?: string): Buffer {
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

export interface HttpTransportOptions extends PostSettings {
  readonly endpoint: string
  readonly capacityEndpoint: string
  /** The id by which the server counts shippers. */
  readonly shipper: string
  /** Bodies of at least this many bytes are compressed; Infinity for none. */
  readonly gzipAboveBytes: number
  /** The server refused a compressed body that it accepted uncompressed. */
  readonly onGzipRefused: () => void
}

const compress = promisify(gzip)

/** Sends batches as `POST <endpoint>` and requests capacity by `POST <endpoint>/capacity`. */
function httpTransport(options: HttpTransportOptions): Transport {
  const { endpoint } = options
  let gzipWorks = true
  let spare: Buffer | undefined

  async function deliver(body: Buffer, signal: AbortSignal): Promise<SendAnswer> {
    if (!gzipWorks || body.length < options.gzipAboveBytes) return postBatch(endpoint, body, options, signal)
    const zipped = await compress(body, { level: constants.Z_BEST_SPEED })
    const headers = async (): Promise<Record<string, string>> => ({
      'content-encoding': 'gzip',
      ...(await options.headers()),
    })
    const answer = await postBatch(endpoint, zipped, { ...options, headers }, signal)
    // A server that cannot read gzip answers 415, or 400 because it sees no JSON.
    if (answer.status !== 415 && answer.status !== 400) return answer
    const plain = await postBatch(endpoint, body, options, signal)
    if (plain.kind === 'accepted') {
      gzipWorks = false
      options.onGzipRefused()
    }
    return plain
  }

  return {
    send: (events, signal, after) =>
      orFailed(async () => {
        const body = batchBody(events, spare, after)
        spare = undefined
        const answer = await deliver(body, signal)
        // `fetch` sends a copy, and after a complete answer neither is needed: the next batch can use the memory.
        spare = Buffer.from(body.buffer)
        return answer
      }),
    capacity: (pending, signal) =>
      orFailed(async () => {
        const question = Buffer.from(JSON.stringify({ shipper: options.shipper, pending }))
        const { status, body, reason, retryAfterMs } = await post(options.capacityEndpoint, question, options, signal)
        return capacityAnswerOf(status, body, reason, retryAfterMs)
      }),
  }
}

/** The transport that the options choose: HTTP, or the user's own functions. */
export function transportOf(options: ResolvedShipperOptions, shipper: string, onGzipRefused: () => void): Transport {
  const { endpoint, capacityEndpoint, send } = options
  if (send !== undefined) return customTransport({ ...options, send })
  return httpTransport({
    ...options,
    ...{ endpoint: endpoint!, capacityEndpoint: capacityEndpoint!, shipper, onGzipRefused },
  })
}
