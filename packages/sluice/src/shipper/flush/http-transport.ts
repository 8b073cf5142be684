import { promisify } from 'node:util'
import { constants, gzip } from 'node:zlib'
import type { Clock } from '../../core/clock.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import { readBounded } from '../../runtime/bounded-body.ts'
import { answerOf, capacityAnswerOf, readResults, type SendAnswer } from './answers.ts'
import { batchBody } from './batch-body.ts'
import { withTimeLimit } from './time-limit.ts'
import { messageOf, type Transport } from './transport.ts'

export type Headers = Readonly<Record<string, string>>

export interface HttpTransportOptions {
  readonly endpoint: string
  readonly capacityEndpoint: string
  /** The id by which the server counts shippers. */
  readonly shipper: string
  readonly headers: () => Headers | Promise<Headers>
  readonly timeoutMs: number
  /** Bodies of at least this many bytes are compressed; Infinity for none. */
  readonly gzipAboveBytes: number
  readonly clock: Clock
  /** The server refused a compressed body that it accepted uncompressed. */
  readonly onGzipRefused: () => void
}

interface Response {
  readonly status: number
  readonly body: unknown
  readonly reason: string
  readonly retryAfterMs: number | undefined
}

const compress = promisify(gzip)
const maxAnswerBytes = 32 << 20

/** Sends batches as `POST <endpoint>` and requests capacity by `POST <endpoint>/capacity`. */
export function httpTransport(options: HttpTransportOptions): Transport {
  let gzipWorks = true
  let spare: Buffer | undefined

  const post = (url: string, body: Uint8Array, outer: AbortSignal, zipped = false): Promise<Response> =>
    withTimeLimit(options.clock, options.timeoutMs, outer, async (signal) => {
      const response = await fetch(url, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(zipped ? { 'content-encoding': 'gzip' } : {}),
          ...(await options.headers()),
        },
        body,
        // A redirect of a POST may become a GET, whose 200 would count as "stored".
        redirect: 'manual',
        signal,
      })
      // The whole answer must arrive: if the connection is lost in between, it is unknown what the server did.
      const text = await textOf(response)
      // Captive portals and wrong addresses answer 200 with a page.
      const isPage = response.ok && /^text\/html\b/i.test(response.headers.get('content-type') ?? '')
      return {
        status: isPage ? 502 : response.status,
        body: parse(text),
        reason: isPage ? 'answered with a web page' : reasonOf(response.status, text),
        retryAfterMs: retryAfterMs(Object.fromEntries(response.headers), options.clock.now() / 1000),
      }
    })

  async function deliver(body: Buffer, signal: AbortSignal): Promise<SendAnswer> {
    const zip = gzipWorks && body.length >= options.gzipAboveBytes
    const sent = zip ? await compress(body, { level: constants.Z_BEST_SPEED }) : body
    const first = await post(options.endpoint, sent, signal, zip)
    const answer = toAnswer(first)
    // A server that cannot read gzip answers 415, or 400 because it sees no JSON.
    if (!zip || (first.status !== 415 && first.status !== 400)) return answer
    const plain = toAnswer(await post(options.endpoint, body, signal))
    if (plain.kind === 'accepted') {
      gzipWorks = false
      options.onGzipRefused()
    }
    return plain
  }

  return {
    async send(events, signal) {
      try {
        const body = batchBody(events, spare)
        spare = undefined
        const answer = await deliver(body, signal)
        // `fetch` sends a copy, and after a complete answer neither is needed: the next batch can use the memory.
        spare = Buffer.from(body.buffer)
        return answer
      } catch (error) {
        return { kind: 'failed', reason: messageOf(error) }
      }
    },
    async capacity(pending, signal) {
      try {
        const question = Buffer.from(JSON.stringify({ shipper: options.shipper, pending }))
        const { status, body, reason, retryAfterMs } = await post(options.capacityEndpoint, question, signal)
        return capacityAnswerOf(status, body, reason, retryAfterMs)
      } catch (error) {
        return { kind: 'failed', reason: messageOf(error) }
      }
    },
  }
}

function toAnswer({ status, body, reason, retryAfterMs }: Response): SendAnswer {
  const answer = answerOf(status, reason, retryAfterMs)
  const results = answer.kind === 'accepted' ? readResults(body) : undefined
  return results === undefined ? answer : { kind: 'accepted', results }
}

async function textOf(response: globalThis.Response): Promise<string> {
  const bytes = await readBounded(response.body, maxAnswerBytes)
  if (bytes === undefined) throw new Error(`the answer has more than ${maxAnswerBytes} bytes`)
  return Buffer.from(bytes.buffer).toString()
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

function reasonOf(status: number, text: string): string {
  const short = text.replace(/\s+/g, ' ').trim().slice(0, 200)
  return short === '' ? `status ${status}` : `status ${status}: ${short}`
}
