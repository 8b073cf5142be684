import { createServer, request, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { startTcpProxy } from '../testing/tcp-proxy.ts'
import { waitFor } from '../testing/wait-for.ts'
import { createPresence, eventStream, type Presence, sendEvents } from './index.ts'

let server: RedisServer
let namespaces = 0
const open: { close(): unknown }[] = []

beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close()
})

const makePresence = async (port = server.port, name = `streams${namespaces++}`): Promise<Presence> => {
  const client = new Redis(port)
  client.on('error', () => undefined)
  open.push({ close: () => client.disconnect() })
  const redis = openRedis(client, { reports: false })
  const presence = await createPresence({ redis, name, redisDeadline: '2s', grace: '10ms' })
  open.push(presence)
  return presence
}

const listen = async (handler: Parameters<typeof createServer>[1]): Promise<Server & { port: number }> => {
  const http = createServer(handler)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  open.push({
    close: () => {
      http.closeAllConnections()
      http.close()
    },
  })
  return Object.assign(http, { port: (http.address() as AddressInfo).port })
}

const subscriptions = async (): Promise<number> => (await server.cli<string[]>('PUBSUB', 'CHANNELS', '*')).length

/** Reads an event stream until it has so much. */
const readUntil = async (reader: ReadableStreamDefaultReader<Uint8Array>, end: string): Promise<string> => {
  let text = ''
  while (!text.includes(end)) {
    const { value, done } = await reader.read()
    if (done) break
    text += new TextDecoder().decode(value)
  }
  return text
}

test('a client that left before its stream began is no member', async () => {
  const presence = await makePresence()
  let handled = 0
  const http = await listen(async (request, response) => {
    await new Promise((resolve) => request.socket.once('close', resolve))
    await sendEvents(presence, response, { channel: 'c', id: `u${handled}` })
    handled += 1
  })
  for (let i = 0; i < 5; i++) {
    const socket = connect(http.port, '127.0.0.1', () => socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n'))
    socket.on('error', () => undefined)
    await waitFor(async () => (await new Promise<number>((resolve) => http.getConnections((_, n) => resolve(n)))) > 0)
    socket.destroy()
    await waitFor(() => handled > i)
  }
  expect(presence.stats().members).toBe(0)
  expect(await subscriptions()).toBe(0)
})

test('a HEAD request is answered, and makes no member', async () => {
  const presence = await makePresence()
  const http = await listen((_, response) => void sendEvents(presence, response, { channel: 'c', id: 'ann' }))
  const status = await new Promise((resolve, reject) =>
    request({ port: http.port, host: '127.0.0.1', method: 'HEAD' }, (response) => resolve(response.statusCode))
      .on('error', reject)
      .end(),
  )
  expect(status).toBe(200)
  const head = eventStream(presence, { channel: 'c', id: 'bob' })
  expect(head.headers.get('content-type')).toContain('text/event-stream')
  await presence.publish('c', 'unread')
  expect(presence.stats().members).toBe(0)
  expect(await subscriptions()).toBe(0)
})

test('messages are any JSON values, with a name and an id, and those that a client missed follow', async () => {
  const presence = await makePresence()
  const reader = eventStream(presence, { channel: 'c', id: 'ann', first: [{ usd: 0 }] }).body!.getReader()
  expect(await readUntil(reader, 'usd')).toContain('data: {"usd":0}\n\n')
  await waitFor(async () => (await subscriptions()) === 1)
  await presence.publish('c', { usd: 1 }, { event: 'price' })
  const text = await readUntil(reader, 'usd')
  expect(text).toMatch(/^id: \d+-\d+\nevent: price\ndata: \{"usd":1\}\n\n$/)
  await reader.cancel()
  for (const message of [null, 7, 'two\nlines', ['x']]) await presence.publish('c', message)
  const lastEventId = /id: (\S+)/.exec(text)![1]!
  const again = eventStream(presence, { channel: 'c', id: 'ann', lastEventId }).body!.getReader()
  const missed = await readUntil(again, '["x"]')
  expect(missed.match(/^data: .*$/gm)).toEqual(['data: null', 'data: 7', 'data: two', 'data: lines', 'data: ["x"]'])
  await again.cancel()
  // Node's responses know what the client sent.
  const http = await listen((_, response) => void sendEvents(presence, response, { channel: 'c', id: 'ann' }))
  const answer = await fetch(`http://127.0.0.1:${http.port}`, { headers: { 'last-event-id': lastEventId } })
  expect(await readUntil(answer.body!.getReader(), '["x"]')).toContain('data: null')
})

test('what is published while a process has no connection to Redis follows, each message once', async () => {
  const [presence, heard] = [await makePresence(), [] as unknown[]]
  presence.subscribe('c', (message) => heard.push(message))
  await waitFor(async () => (await subscriptions()) === 1)
  await presence.publish('c', 1)
  await waitFor(() => heard.length === 1)
  await server.cli('CLIENT', 'KILL', 'TYPE', 'pubsub')
  await presence.publish('c', 2)
  await waitFor(async () => (await subscriptions()) === 1)
  await presence.publish('c', 3)
  await waitFor(() => heard.length === 3)
  expect(heard).toEqual([1, 2, 3])
})

test('what is published while a process has no connection at all follows, also when it has heard nothing before', async () => {
  const proxy = await startTcpProxy({ targetPort: server.port })
  open.push(proxy)
  const presence = await makePresence(proxy.port)
  const publisher = await makePresence(server.port, presence.name)
  for (let round = 0; round < 8; round++) {
    const [channel, heard] = [`c${round}`, [] as unknown[]]
    const stop = presence.subscribe(channel, (message) => heard.push(message))
    let isThere = false
    const stopProbe = presence.subscribe('probe', () => {
      isThere = true
    })
    await waitFor(async () => {
      await publisher.publish('probe', 1)
      return isThere
    })
    stopProbe()
    await proxy.refuse()
    proxy.cut()
    await waitFor(async () => (await subscriptions()) === 0)
    await publisher.publish(channel, 1)
    await proxy.refuse(false)
    await waitFor(async () => (await subscriptions()) === 1)
    await publisher.publish(channel, 2)
    await waitFor(() => heard.includes(2))
    expect(heard, `round ${round}`).toEqual([1, 2])
    stop()
    await waitFor(async () => (await subscriptions()) === 0)
  }
})

test('the messages that are kept are bounded and expire', async () => {
  const presence = await makePresence()
  for (let i = 0; i < 150; i++) await presence.publish('c', i)
  const kept = `sluice:#presence/default/${presence.name}/#kept/c`
  expect(await server.cli('XLEN', kept)).toBe(100)
  expect(await server.cli<number>('PTTL', kept)).toBeGreaterThan(0)
})

test('ids and channels with lone surrogates are different members, and leave', async () => {
  const presence = await makePresence()
  const ids = ['\ud800', '\ud801', '\ufffd', 'a"b', 'a\\u0022b']
  const joined = await Promise.all(ids.map((id) => presence.join('\udc00', id)))
  expect((await presence.list('\udc00')).map(({ id }) => id).sort()).toEqual([...ids].sort())
  expect(await presence.count('\udc00')).toBe(5)
  for (const membership of joined) membership.leave()
  await waitFor(async () => (await presence.count('\udc00')) === 0)
})

test('a listener that throws takes no message from itself or from others', async () => {
  const surfaced: unknown[] = []
  const before = process.listeners('unhandledRejection')
  process.removeAllListeners('unhandledRejection')
  process.on('unhandledRejection', (error) => surfaced.push(error))
  open.push({
    close: () => {
      process.removeAllListeners('unhandledRejection')
      for (const listener of before) process.on('unhandledRejection', listener)
    },
  })
  const presence = await makePresence()
  const [thrown, other, late] = [[] as unknown[], [] as unknown[], [] as unknown[]]
  let firstId = ''
  presence.subscribe('c', (message, { id }) => {
    firstId ||= id
    thrown.push(message)
    throw new Error('mine')
  })
  presence.watch('c', () => {
    throw new Error('mine')
  })
  presence.subscribe('c', (message) => other.push(message))
  await waitFor(async () => (await subscriptions()) === 2)
  await presence.join('c', 'ann')
  await Promise.all(Array.from({ length: 50 }, (_, i) => presence.publish('c', i)))
  await waitFor(() => other.length === 50)
  expect(thrown).toEqual(other)
  const after = { after: firstId }
  presence.subscribe(
    'c',
    (message) => {
      late.push(message)
      throw new Error('mine')
    },
    after,
  )
  await waitFor(() => late.length === 49)
  await presence.publish('c', 'last')
  await waitFor(() => late.at(-1) === 'last')
  await waitFor(() => surfaced.length === 51 + 1 + 50)
})

test.each(['ioredis', 'node-redis'] as const)(
  'a subscription that a busy Redis refused is made when it is not busy any more, with %s',
  async (driver) => {
    const url = `redis://127.0.0.1:${server.port}`
    const client = driver === 'ioredis' ? new Redis(url) : createClient({ url })
    client.on('error', () => undefined)
    open.push({ close: () => (client instanceof Redis ? client.disconnect() : undefined) })
    const redis = openRedis(client, { reports: false })
    const presence = await createPresence({ redis, name: `busy${namespaces++}`, redisDeadline: '2s', grace: '10ms' })
    open.push(presence)
    let isThere = false
    presence.subscribe('first', () => {
      isThere = true
    })
    await waitFor(async () => {
      await presence.publish('first', 1)
      return isThere
    })
    await server.cli('CONFIG', 'SET', 'busy-reply-threshold', '1')
    const script = server.cli('EVAL', 'while true do end', '0').catch(() => undefined)
    await waitFor(async () => String(await server.cli('TIME').catch((error) => error)).includes('BUSY'))
    const heard: unknown[] = []
    presence.subscribe('second', (message) => heard.push(message))
    // What a new subscriber is told of is refused as well.
    await waitFor(async () => (await presence.count('x').catch((error) => error.kind)) === 'busy')
    await server.cli('SCRIPT', 'KILL')
    await script
    await waitFor(async () => {
      await presence.publish('second', 1)
      return heard.length > 0
    })
  },
)
