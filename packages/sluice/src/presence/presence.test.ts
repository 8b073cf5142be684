import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openReports } from '../reports/redis-fleet.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { waitFor } from '../testing/wait-for.ts'
import {
  createPresence,
  eventStream,
  type Presence,
  type PresenceChange,
  type PresenceOptions,
  sendEvents,
} from './index.ts'

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

const presences = (howMany: number, options: Partial<PresenceOptions> = {}): Promise<Presence[]> => {
  const namespace = `test ${namespaces++}`
  return Promise.all(
    Array.from({ length: howMany }, async () => {
      const client = new Redis(server.port, { retryStrategy: () => 50 })
      client.on('error', () => undefined)
      open.push({ close: () => client.disconnect() })
      const presence = await createPresence({
        redis: openRedis(client, { reports: false }),
        name: namespace,
        redisDeadline: '2s',
        grace: '30ms',
        ...options,
      })
      open.push(presence)
      return presence
    }),
  )
}
/** A process that stops without notice: its clock, and so its beat, stops. */
const mortal = { clock: virtualClock(), ttl: '400ms', beat: '100ms' } as const
/** Watches a channel, and returns when Redis has the subscription: changes from then on are received. */
const watching = async (presence: Presence, channel: string, listener: (change: PresenceChange) => void) => {
  const subscribed = async () => (await server.cli<string[]>('PUBSUB', 'CHANNELS', '*')).length
  const before = await subscribed()
  open.push({ close: presence.watch(channel, listener) })
  await waitFor(async () => (await subscribed()) > before)
}
const ids = async (presence: Presence, channel = 'c') => (await presence.list(channel)).map(({ id }) => id).sort()

test('members of all processes are listed and counted once, with their data', async () => {
  const [a, b] = await presences(2)
  await a!.join('c', 'ann', { tab: 1 })
  await b!.join('c', 'ann', { tab: 2 })
  await b!.join('c', 'bob / {x}')
  await b!.join('other', 'eve')
  expect(await ids(a!)).toEqual(['ann', 'bob / {x}'])
  expect(await a!.count('c')).toBe(2)
  expect(await a!.count('nobody')).toBe(0)
  expect((await b!.list('other'))[0]).toEqual({ id: 'eve', data: null })
})

test('joins, updates and leaves are separate changes, and only the last connection of a member counts', async () => {
  const [a, b] = await presences(2)
  const changes: PresenceChange[] = []
  await watching(b!, 'c', (change) => changes.push(change))
  const first = await a!.join('c', 'ann', 1)
  const second = await a!.join('c', 'ann', 1)
  const third = await b!.join('c', 'ann', 1)
  await first.update(2)
  first.leave()
  first.leave()
  second.leave()
  await waitFor(() => a!.stats().members === 0)
  await waitFor(() => changes.length >= 3)
  third.leave()
  await waitFor(() => changes.length >= 4)
  expect(changes.map(({ type }) => type)).toEqual(['join', 'update', 'update', 'leave'])
  expect(await b!.count('c')).toBe(0)
})

test('a member that comes back within the grace has never left', async () => {
  const clock = virtualClock()
  const [a] = await presences(1, { grace: '10s', clock })
  const changes: string[] = []
  await watching(a!, 'c', ({ type }) => changes.push(type))
  for (let i = 0; i < 5; i++) {
    const membership = await a!.join('c', 'ann')
    membership.leave()
    await clock.advance('9s')
  }
  const last = await a!.join('c', 'ann')
  await clock.advance('60s')
  expect(a!.stats().members).toBe(1)
  last.leave()
  await clock.advance('10s')
  await waitFor(() => changes.includes('leave'))
  expect(changes).toEqual(['join', 'leave'])
})

test('the members of a killed process vanish within one TTL, and their leaves are published', async () => {
  const namespace = `killed ${namespaces++}`
  const [dying] = await presences(1, { ...mortal, name: namespace })
  const [other] = await presences(1, { name: namespace, ttl: '400ms', beat: '100ms' })
  const left: string[] = []
  await watching(other!, 'c', ({ type, id }) => type === 'leave' && left.push(id))
  await Promise.all(Array.from({ length: 50 }, (_, i) => dying!.join('c', `dying ${i}`)))
  await dying!.join('c', 'both')
  await other!.join('c', 'both')
  await waitFor(async () => (await other!.count('c')) === 1)
  expect(await ids(other!)).toEqual(['both'])
  await waitFor(() => left.length === 50)
  expect(left).not.toContain('both')
  expect(await server.cli('KEYS', `*killed*dying*`)).toEqual([])
})

test('a process that was declared dead adds its members again', async () => {
  const namespace = `paused ${namespaces++}`
  const clock = virtualClock()
  const [paused] = await presences(1, { clock, ttl: '300ms', beat: '100ms', name: namespace })
  const [other] = await presences(1, { name: namespace, ttl: '300ms', beat: '100ms' })
  await paused!.join('c', 'ann', { a: 1 })
  await waitFor(async () => (await other!.count('c')) === 0)
  await clock.advance('100ms')
  await waitFor(async () => (await other!.count('c')) === 1)
  expect(await other!.list('c')).toEqual([{ id: 'ann', data: { a: 1 } }])
})

test('after a wipe all members are back within a beat', async () => {
  const [a, b] = await presences(2, { ttl: '600ms', beat: '100ms' })
  await a!.join('c', 'ann')
  await b!.join('c', 'bob')
  await server.cli('FLUSHALL')
  await waitFor(async () => (await ids(a!)).length === 2)
})

test('a hundred thousand members cost as few round trips as one', { timeout: 120_000 }, async () => {
  const clock = virtualClock()
  const [a] = await presences(1, { clock })
  const many = Array.from({ length: 100_000 }, (_, i) => a!.join(`c${i % 10}`, `m${i}`))
  await Promise.all(many)
  expect(await a!.count('c0')).toBe(10_000)
  const calls = async () => Number(/calls=(\d+)/.exec((await server.info('commandstats')).cmdstat_evalsha ?? '')?.[1])
  const before = await calls()
  for (let beats = 0; beats < 5; beats++) {
    await clock.advance('20s')
    // The next beat is planned when this one was answered.
    await waitFor(() => clock.pending === 1)
  }
  expect((await calls()) - before).toBe(5)
})

test('what is published reaches the event streams of all processes, and a client that disconnects leaves', async () => {
  const [a, b] = await presences(2)
  const http = createServer((_, response) => {
    void sendEvents(a!, response, { channel: 'prices', id: 'ann', first: ['present'] })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  open.push({ close: () => http.close() })
  let text = ''
  const call = request({ port: (http.address() as AddressInfo).port, host: '127.0.0.1' }, (response) => {
    expect(response.headers['content-type']).toContain('text/event-stream')
    response.on('data', (chunk) => (text += chunk))
    response.on('error', () => undefined)
  })
  call.on('error', () => undefined)
  call.end()
  const stream = eventStream(b!, { channel: 'prices', id: 'bob' })
  const reader = stream.body!.getReader()
  let fetched = ''
  void (async () => {
    for (let read = await reader.read(); !read.done; read = await reader.read()) fetched += Buffer.from(read.value)
  })()
  await waitFor(async () => (await ids(a!, 'prices')).length === 2)
  await waitFor(async () => {
    await b!.publish('prices', '{"usd":1}\n{"usd":2}')
    return text.includes('usd') && fetched.includes('usd')
  })
  expect(text).toContain('data: present\n\n')
  expect(text).toContain('data: {"usd":1}\ndata: {"usd":2}\n\n')
  call.destroy()
  await reader.cancel()
  await waitFor(async () => (await a!.count('prices')) === 0)
})

test('a client that does not read is cut off instead of filling the memory', async () => {
  const [a] = await presences(1)
  const reader = eventStream(a!, { channel: 'flood', id: 'slow', maxBufferedBytes: 10_000 }).body!.getReader()
  await reader.read()
  await waitFor(async () => (await a!.count('flood')) === 1)
  await waitFor(async () => {
    await a!.publish('flood', 'x'.repeat(1000))
    return a!.stats().members === 0
  })
  await expect(reader.read()).rejects.toThrow('too slow')
})

test('a model of presence holds under random joins, leaves and kills', { timeout: 120_000 }, async () => {
  const namespace = `model ${namespaces++}`
  const [watcher] = await presences(1, { name: namespace, ttl: '300ms', beat: '50ms' })
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 1103515245 + 12345) % 2147483648
    return Math.floor((seed / 2147483648) * below)
  }
  const living: {
    presence: Presence
    clock: ReturnType<typeof virtualClock>
    members: Map<string, { leave(): void }>
  }[] = []
  for (let step = 0; step < 60; step++) {
    const action = random(10)
    if (action < 2 || living.length === 0) {
      const clock = virtualClock()
      const [presence] = await presences(1, { name: namespace, clock, ttl: '60s', grace: '0ms' })
      living.push({ presence: presence!, clock, members: new Map() })
    } else if (action < 7) {
      const { presence, members } = living[random(living.length)]!
      const id = `m${random(20)}`
      if (!members.has(id)) members.set(id, await presence.join('c', id))
    } else if (action < 9) {
      const { members, clock } = living[random(living.length)]!
      const [id, membership] = [...members][0] ?? []
      membership?.leave()
      members.delete(id!)
      await clock.advance('1ms')
    } else {
      const [gone] = living.splice(random(living.length), 1)
      await gone!.presence.close()
    }
  }
  const expected = [...new Set(living.flatMap(({ members }) => [...members.keys()]))].sort()
  await waitFor(async () => JSON.stringify(await ids(watcher!)) === JSON.stringify(expected))
  expect(await watcher!.count('c')).toBe(expected.length)
})

test('health tells whether Redis answers, and a closed presence refuses calls', async () => {
  const own = await startRedis()
  const client = new Redis(own.port, { retryStrategy: () => 50 })
  client.on('error', () => undefined)
  const presence = await createPresence({ redis: openRedis(client, { reports: false }) })
  open.push({ close: () => client.disconnect() }, presence)
  expect(await presence.health()).toEqual({ ready: true, reasons: [], warnings: [] })
  await own.kill()
  await waitFor(async () => !(await presence.health()).ready)
  expect((await presence.health()).reasons).toEqual(['Redis does not answer.'])
  expect(() => presence.on('rejoin' as never, () => {})).toThrow('did you mean "rejoined"')
  await presence.close({ within: '1s' })
  expect((await presence.health()).reasons).toEqual(['The presence is closed.'])
  const closed = 'The presence is closed; make a new one with createPresence.'
  await expect(presence.count('c')).rejects.toThrow(closed)
  expect(() => presence.watch('c', () => {})).toThrow(closed)
  await own.stop()
})

test('closing waits no longer for a frozen Redis than it is told to, and ends subscriptions', async () => {
  const own = await startRedis()
  const client = new Redis(own.port, { retryStrategy: () => 50 })
  client.on('error', () => undefined)
  open.push({ close: () => client.disconnect() })
  const redis = openRedis(client, { reports: false, socketTimeout: '30s' })
  await using presence = await createPresence({ redis, redisDeadline: '30s' })
  await using other = await createPresence({ redis, redisDeadline: '30s' })
  let heard = 0
  presence.subscribe('c', () => heard++)
  await presence.join('c', 'ann')
  await waitFor(async () => (await own.cli<string[]>('PUBSUB', 'CHANNELS', '*')).length === 1)
  await own.freeze()
  const begunMs = performance.now()
  await presence.close({ within: '50ms' })
  expect(performance.now() - begunMs).toBeLessThan(5000)
  own.thaw()
  await waitFor(async () => (await own.cli<string[]>('PUBSUB', 'CHANNELS', '*')).length === 0)
  await other.publish('c', 'unheard')
  expect(heard).toBe(0)
  await own.stop()
})

test('a presence appears in the reports of its process, under its name', async () => {
  const client = new Redis(server.port)
  open.push({ close: () => client.disconnect() })
  const redis = openRedis(client, { service: 'chat' })
  open.push(await createPresence({ redis, name: 'rooms' }))
  const reports = openReports(redis)
  open.push(reports)
  const [found] = await waitFor(
    async () => {
      const read = await reports.read('chat', 1000)
      return read.length > 0 && read
    },
    { timeoutMs: 10_000 },
  )
  const sections = found!.report.sections.filter(({ kind }) => kind === 'presence')
  expect(sections).toMatchObject([{ name: 'rooms', stats: { members: 0 } }])
})

test('wrong options are refused', async () => {
  const client = new Redis(server.port)
  open.push({ close: () => client.disconnect() })
  await expect(
    createPresence({ redis: openRedis(client, { reports: false }), ttl: '10s', beat: '5s' }),
  ).rejects.toThrow('at most a third of the ttl')
  await expect(createPresence({ redis: openRedis(client, { reports: false }), tll: '10s' } as never)).rejects.toThrow(
    'did you mean "ttl"',
  )
})
