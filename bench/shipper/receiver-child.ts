// A receiver that accepts 5,000 events at a time without delay and counts them. Prints its port, and exits with its
// parent.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gunzipSync } from 'node:zlib'

let events = 0
const capacity = JSON.stringify({ ready: true, maxBatchSize: 5000, delayBetweenBatches: 0 })
const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', (): unknown => {
    response.setHeader('content-type', 'application/json')
    if (request.method === 'GET') return response.end(JSON.stringify({ events }))
    if (request.url?.endsWith('/capacity')) return response.end(capacity)
    const body = Buffer.concat(chunks)
    const zipped = request.headers['content-encoding'] === 'gzip'
    events += (JSON.parse((zipped ? gunzipSync(body) : body).toString()) as { events: unknown[] }).events.length
    return response.end('{}')
  })
})
server.listen(0, '127.0.0.1', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`))
process.stdin.on('end', () => process.exit()).resume()
