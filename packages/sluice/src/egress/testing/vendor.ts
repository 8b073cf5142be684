import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A vendor that records when each request arrived. */
export interface Vendor {
  readonly origin: string
  readonly arrivals: readonly number[]
  readonly server: Server
  close(): Promise<void>
}

type Answer = (request: IncomingMessage, response: ServerResponse) => void

/** Starts a vendor on a free port; it answers at once unless configured otherwise. */
export async function startVendor(answer: Answer = (_, response) => response.end('ok')): Promise<Vendor> {
  const arrivals: number[] = []
  const server = createServer((request, response) => {
    arrivals.push(performance.now())
    answer(request, response)
  })
  server.keepAliveTimeout = 30_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    server,
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

/** The most arrivals in any rolling period that includes its start and not its end. */
export function mostInAnyPeriod(arrivals: readonly number[], periodMs: number): number {
  const sorted = [...arrivals].sort((a, b) => a - b)
  let most = 0
  for (let first = 0, last = 0; last < sorted.length; last++) {
    while (sorted[last]! - sorted[first]! >= periodMs) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}
