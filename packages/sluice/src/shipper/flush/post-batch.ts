import type { Clock } from '../../core/clock.ts'
import { retryAfterMs } from '../../core/retry-after.ts'
import { readBounded } from '../../runtime/bounded-body.ts'
import { answerOf, isPage, type SendAnswer } from './answers.ts'
import { withTimeLimit } from './transport.ts'

export type Headers = Readonly<Record<string, string>>

export interface PostSettings {
  readonly headers: () => Headers | Promise<Headers>
  readonly timeoutMs: number
  readonly clock: Clock
}

export interface Posted {
  readonly status: number
  readonly body: unknown
  readonly reason: string
  readonly retryAfterMs: number | undefined
}

const maxAnswerBytes = 32 << 20

/** Posts JSON and reads the whole answer; rejects if there is none. */
export function post(url: string, body: Uint8Array, settings: PostSettings, outer: AbortSignal): Promise<Posted> {
  return withTimeLimit(settings.clock, settings.timeoutMs, outer, async (signal) => {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...(await settings.headers()) },
      body: body as Uint8Array<ArrayBuffer>,
      // A redirect of a POST may become a GET, whose 200 would count as "stored".
      redirect: 'manual',
      signal,
    })
    // The whole answer must arrive: if the connection is lost in between, it is unknown what the server did.
    const text = await textOf(response)
    const isNoAnswer = response.ok && isPage(text)
    return {
      status: isNoAnswer ? 502 : response.status,
      body: parse(text),
      reason: isNoAnswer ? 'answered with a web page' : reasonOf(response.status, text),
      retryAfterMs: retryAfterMs(Object.fromEntries(response.headers), settings.clock.now() / 1000),
    }
  })
}

/** Posts a batch; rejects if there is no answer. */
export async function postBatch(
  url: string,
  body: Uint8Array,
  settings: PostSettings,
  signal: AbortSignal,
): Promise<SendAnswer & { readonly status: number }> {
  const { status, reason, retryAfterMs, body: answer } = await post(url, body, settings, signal)
  return { ...answerOf(status, reason, retryAfterMs, answer), status }
}

async function textOf(response: Response): Promise<string> {
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
