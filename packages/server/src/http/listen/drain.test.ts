import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { drain } from './drain.ts'

const request = 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'

async function keptAlive() {
  const server = createServer((_req, res) => res.end('answered'))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const client = connect(port, '127.0.0.1')
  client.setEncoding('utf8')
  client.write(request)
  await once(client, 'data')
  return { server, client, port }
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

  it('answers every connection that the system has accepted, however many wait for Node', async () => {
    const { server, client, port } = await keptAlive()
    client.destroy()
    const clients = Array.from({ length: 100 }, () => connect(port, '127.0.0.1').setEncoding('utf8'))
    const answers = clients.map(async (each) => {
      each.write(request)
      let text = ''
      for await (const chunk of each) text += chunk
      return text
    })
    // On the loopback interface the system has completed these connections already.
    const drained = drain(server, 60_000)
    for (const answer of await Promise.all(answers)) expect(answer).toMatch(/connection: close[\s\S]*answered/i)
    await drained
  })

  it('goes on accepting for a moment, and closes each connection after its answer', async () => {
    const { server, client, port } = await keptAlive()
    client.destroy()
    const drained = drain(server, 60_000)
    await new Promise((resolve) => setImmediate(resolve))
    const late = connect(port, '127.0.0.1').setEncoding('utf8')
    late.write(request)
    let text = ''
    for await (const chunk of late) text += chunk
    expect(text).toMatch(/connection: close[\s\S]*answered/i)
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
