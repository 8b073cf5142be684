import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A vendor that records when requests arrive, and their credentials. */
export async function startVendor() {
  const arrivalsMs: number[] = []
  const authorizations = new Set<string | undefined>()
  const server = createServer((request, response) => {
    arrivalsMs.push(performance.now())
    authorizations.add(request.headers.authorization)
    request.resume()
    request.on('end', () => response.setHeader('content-type', 'application/json').end('{"data":{}}'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivalsMs,
    authorizations,
    close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

/** The most arrivals in any second, wherever it begins. */
export function mostInAnySecond(arrivalsMs: readonly number[]): number {
  let most = 0
  let from = 0
  for (let to = 0; to < arrivalsMs.length; to++) {
    while (arrivalsMs[to]! - arrivalsMs[from]! >= 1000) from++
    most = Math.max(most, to - from + 1)
  }
  return most
}
