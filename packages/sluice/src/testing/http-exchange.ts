import { type IncomingHttpHeaders, request } from 'node:http'

/** A request of the HTTP suite. */
export interface HttpAsk {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string | string[]>>
  readonly json?: unknown
}

/** What came back. */
export interface HttpAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** A request in flight. */
export interface HttpExchange {
  readonly answer: Promise<HttpAnswer>
  /** Goes away without waiting for the answer. */
  leave(): void
}

/** Sends a request to a server on this machine, on a connection of its own, with exactly the headers that are given. */
export function exchange(
  port: number,
  path: string,
  { method = 'GET', headers = {}, json }: HttpAsk = {},
): HttpExchange {
  const body = json === undefined ? undefined : JSON.stringify(json)
  const content =
    body === undefined ? {} : { 'content-type': 'application/json', 'content-length': `${Buffer.byteLength(body)}` }
  const outgoing = request({ host: '127.0.0.1', port, path, method, agent: false, headers: { ...headers, ...content } })
  const answer = new Promise<HttpAnswer>((resolve, reject) => {
    outgoing.on('error', reject)
    outgoing.on('response', (incoming) => {
      const chunks: Buffer[] = []
      incoming.on('error', reject)
      incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
      incoming.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        resolve({ status: incoming.statusCode ?? 0, headers: incoming.headers, body: text })
      })
    })
    outgoing.end(body)
  })
  // Whoever leaves does not wait for the answer.
  answer.catch(() => {})
  return { answer, leave: () => outgoing.destroy() }
}
