import { once } from 'node:events'
import { type ClientHttp2Session, connect, createServer, type Http2Server } from 'node:http2'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import type { ResponseEnd } from '../../admission/outcome.ts'
import { waitFor } from '../../testing/wait-for.ts'
import { goneSignal, onResponseEnd } from './node-response.ts'

const opened: { close(): unknown }[] = []
afterEach(() => {
  for (const each of opened.splice(0)) each.close()
})

async function serve(handler: (response: never, path: string) => void): Promise<ClientHttp2Session> {
  const server: Http2Server = createServer((request, response) => handler(response as never, request.url))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const session = connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  opened.push(session, server)
  return session
}

test('the bytes of a response of HTTP/2 are counted once', async () => {
  const ends: ResponseEnd[] = []
  const session = await serve((response: import('node:http2').Http2ServerResponse) => {
    onResponseEnd(response as never, (end) => ends.push(end))
    response.write('he')
    response.end('llo')
  })
  session.request({ ':path': '/' }).resume().end()
  await waitFor(() => ends.length === 1)
  expect(ends).toEqual([{ status: 200, bytes: 5, completed: true }])
})

test('a stream of HTTP/2 that was cancelled before anybody asked has ended', async () => {
  const ends: ResponseEnd[] = []
  const signals: AbortSignal[] = []
  const session = await serve((response: import('node:http2').Http2ServerResponse) => {
    response.stream.once('close', () => {
      setImmediate(() => {
        signals.push(goneSignal(response as never))
        onResponseEnd(response as never, (end) => ends.push(end))
      })
    })
  })
  for (let i = 0; i < 4; i++) {
    const stream = session.request({ ':path': '/' })
    stream.on('error', () => {})
    setTimeout(() => stream.close(8), 20)
  }
  await waitFor(() => ends.length === 4, { describe: 'all streams to have ended' })
  expect(ends.every(({ completed }) => !completed)).toBe(true)
  expect(signals.every(({ aborted }) => aborted)).toBe(true)
})

test('a stream of HTTP/2 that is cancelled while it is answered ends once', async () => {
  const ends: ResponseEnd[] = []
  const session = await serve((response: import('node:http2').Http2ServerResponse) => {
    onResponseEnd(response as never, (end) => ends.push(end))
    response.write('never ends')
  })
  const stream = session.request({ ':path': '/' })
  stream.on('error', () => {})
  stream.once('data', () => stream.close(8))
  await waitFor(() => ends.length > 0)
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(ends).toEqual([{ status: 200, bytes: 10, completed: false }])
})
