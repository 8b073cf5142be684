// A vendor for the demonstration and the tests: it records what arrives.
import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Arrival {
  readonly atMs: number
  readonly path: string
  readonly headers: IncomingHttpHeaders
}

export async function startVendor(diamonds = 0, latencyMs = 0) {
  const arrivals: Arrival[] = []
  let status = 200
  const server = createServer(async (request, response) => {
    arrivals.push({ atMs: performance.now(), path: request.url ?? '', headers: request.headers })
    let text = ''
    for await (const chunk of request) text += chunk
    const { variables } = JSON.parse(text || '{}') as { variables?: { offset: number; limit: number } }
    const all = Array.from({ length: diamonds }, (_, i) => ({ id: `d${i}`, price: 1000 + i }))
    const data =
      variables === undefined
        ? { diamonds_by_query_count: diamonds }
        : { diamonds_by_query: all.slice(variables.offset, variables.offset + variables.limit) }
    await sleep(latencyMs, undefined, { ref: false })
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ data }))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/graphql`,
    arrivals,
    answerWith(next: number) {
      status = next
    },
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The most arrivals in any second, wherever it begins. */
export function mostInAnySecond(arrivals: readonly Arrival[]): number {
  const times = arrivals.map(({ atMs }) => atMs)
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + 1000).length))
}
