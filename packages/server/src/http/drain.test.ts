import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { drain } from './listen.ts'

const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

async function keptAlive() {
  const server = createServer((_req, res) => res.end('answered'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  client.setEncoding('utf8')
  client.write(request)
  await once(client, 'data')
  return { server, client }
}

function blockFor(ms: number): void {
  for (const endMs = performance.now() + ms; performance.now() < endMs; );
}

describe('an HTTP server that ends', () => {
  it('closes no idle connection while the machine is too busy for clients to send in time', async () => {
    const { server, client } = await keptAlive()
    const drained = drain(server, 60_000)
    for (const endMs = performance.now() + 1000; performance.now() < endMs; ) {
      blockFor(50)
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
    client.write(request)
    const [answer] = await once(client, 'data')
    expect(answer).toContain('answered')
    client.destroy()
    await drained
  })

  it('closes connections that stay idle', async () => {
    const { server, client } = await keptAlive()
    const ended = once(client, 'end')
    await drain(server, 60_000)
    await ended
    client.destroy()
  })
})
