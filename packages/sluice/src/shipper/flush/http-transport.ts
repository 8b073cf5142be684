import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import { capacityAnswerOf, orFailed, type SendAnswer } from './answers.ts'
import { batchBody } from './batch-body.ts'
import { type PostSettings, post, postBatch } from './post-batch.ts'
import type { Transport } from './transport.ts'

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
export function httpTransport(options: HttpTransportOptions): Transport {
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
