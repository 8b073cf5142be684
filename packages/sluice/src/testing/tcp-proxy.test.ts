import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type RedisServer, startRedis } from './servers/redis.ts'
import { type RespClient, respClient } from './servers/resp.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { waitFor } from './wait-for.ts'

let redis: RedisServer
let proxy: TcpProxy
let client: RespClient

beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis.stop())
beforeEach(async () => {
  await redis.cli('FLUSHALL')
  proxy = await startTcpProxy({ targetPort: redis.port })
  client = respClient(proxy.port)
})
afterEach(async () => {
  client.close()
  await proxy.close()
})

test('passes bytes both ways and counts them', async () => {
  const text = 'x'.repeat(1_000_000)
  await client.call('SET', 'a', text)
  expect(await client.call('GET', 'a')).toBe(text)
  expect(proxy.stats.requestBytes).toBeGreaterThan(1_000_000)
  expect(proxy.stats.replyBytes).toBeGreaterThan(1_000_000)
  expect(proxy.stats).toMatchObject({ connections: 1, open: 1, droppedReplies: 0 })
})

test('a dropped reply leaves the command done and the connection closed', async () => {
  proxy.dropReplies(true)
  await expect(client.call('INCR', 'n')).rejects.toThrow('closed the connection')
  expect(await redis.cli('GET', 'n')).toBe('1')
  expect(proxy.stats.droppedReplies).toBe(1)
  await proxy.resume()
  expect(await client.call('INCR', 'n')).toBe(2)
})

test('replies can be dropped by predicate, and the connection left open', async () => {
  proxy.dropReplies((chunk) => chunk.includes('secret'), { thenClose: false })
  await client.call('SET', 'a', 'secret')
  const socket = connect(proxy.port, '127.0.0.1')
  socket.write('GET a\r\nPING\r\n')
  await waitFor(() => proxy.stats.droppedReplies === 1)
  socket.write('ECHO b\r\n')
  expect(String((await once(socket, 'data'))[0])).toContain('b')
  socket.destroy()
})

test('replies are dropped with a probability', async () => {
  proxy.dropReplies(0.5)
  const outcomes = new Set<string>()
  await waitFor(async () => {
    await client.call('INCR', 'n').then(
      () => outcomes.add('answered'),
      () => outcomes.add('lost'),
    )
    return outcomes.size === 2
  })
})

test('a stalled proxy holds requests and replies, and loses none', async () => {
  await client.call('SET', 'n', 1)
  proxy.stall()
  const late = client.call('INCR', 'n')
  const newcomer = respClient(proxy.port)
  const alsoLate = newcomer.call('INCR', 'n')
  await waitFor(() => proxy.stats.connections === 2)
  expect(await redis.cli('GET', 'n')).toBe('1')
  proxy.stall(false)
  expect([await late, await alsoLate].sort()).toEqual([2, 3])
  newcomer.close()
})

test('a half-closed connection ends for the client only, and the server still gets what it sends', async () => {
  const socket = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true })
  socket.write('PING\r\n')
  await once(socket, 'data')
  proxy.halfClose()
  socket.resume()
  await once(socket, 'end')
  socket.write('SET half closed\r\n')
  await waitFor(async () => (await redis.cli('GET', 'half')) === 'closed')
  socket.destroy()
})

test('a half-closed connection can end for the server', async () => {
  const socket = connect({ port: proxy.port, host: '127.0.0.1' })
  socket.write('PING\r\n')
  await once(socket, 'data')
  proxy.halfClose('server')
  socket.resume()
  await once(socket, 'close')
})

test('refuses new connections, keeps open ones, and accepts again', async () => {
  await client.call('PING')
  await proxy.refuse()
  const other = respClient(proxy.port)
  await expect(other.call('PING')).rejects.toThrow('ECONNREFUSED')
  expect(await client.call('PING')).toBe('PONG')
  await proxy.refuse(false)
  expect(await other.call('PING')).toBe('PONG')
  other.close()
})

test('cuts all connections, with a reset if told so', async () => {
  await client.call('PING')
  proxy.cut()
  await waitFor(() => proxy.stats.open === 0)
  // The client may not have seen yet that its connection is closed.
  await waitFor(() =>
    client.call('PING').then(
      (reply) => reply === 'PONG',
      () => false,
    ),
  )
  const socket = connect(proxy.port, '127.0.0.1')
  socket.write('PING\r\n')
  await once(socket, 'data')
  proxy.cut({ reset: true })
  expect((await once(socket, 'error'))[0]).toMatchObject({ code: 'ECONNRESET' })
})

test('delays each chunk, in order', async () => {
  proxy.delay(30, 'replies')
  const startMs = performance.now()
  const replies = await Promise.all([client.call('INCR', 'n'), client.call('INCR', 'n'), client.call('INCR', 'n')])
  expect(replies).toEqual([1, 2, 3])
  expect(performance.now() - startMs).toBeGreaterThanOrEqual(29)
})

test('a server that refuses is a connection that closes', async () => {
  const dead = await startRedis()
  const through = await startTcpProxy({ targetPort: dead.port })
  await dead.stop()
  const lost = respClient(through.port)
  await expect(lost.call('PING')).rejects.toThrow()
  await through.close()
})
