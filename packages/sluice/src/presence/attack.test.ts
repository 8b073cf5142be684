import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { waitFor } from '../testing/wait-for.ts'
import { createPresence, type Membership, type Presence, type PresenceOptions, sendEvents } from './index.ts'

let server: RedisServer
let namespaces = 0
const open: { close(): unknown }[] = []
beforeAll(async () => {
  server = await startRedis()
})
afterAll(() => server.stop())
afterEach(async () => {
  server.thaw()
  for (const each of open.splice(0).reverse()) await each.close()
})

const newPresence = async (options: Partial<PresenceOptions> = {}): Promise<Presence> => {
  const client = new Redis(server.port, { retryStrategy: () => 50 })
  client.on('error', () => undefined)
  open.push({ close: () => client.disconnect() })
  const namespace = `attack ${namespaces++}`
  const presence = await createPresence({
    redis: openRedis(client, { reports: false }),
    name: namespace,
    redisDeadline: '5s',
    grace: '0ms',
    ...options,
  })
  open.push(presence)
  return presence
}

const scripts = async (): Promise<number> =>
  Number(/calls=(\d+)/.exec((await server.info('commandstats')).cmdstat_evalsha ?? '')?.[1] ?? 0)

/** Advances a virtual clock until a condition that depends on real calls holds. */
const passing = (clock: ReturnType<typeof virtualClock>, condition: () => Promise<boolean>) =>
  waitFor(async () => {
    await clock.advance('100ms')
    return condition()
  })

test('a storm of a hundred thousand joins and leaves costs a call per 500 members, and leaves no member behind', {
  timeout: 120_000,
}, async () => {
  const presence = await newPresence({ redisDeadline: '30s' })
  const before = await scripts()
  const joined = await Promise.all(Array.from({ length: 100_000 }, (_, i) => presence.join(`c${i % 4}`, `m${i}`)))
  for (const each of joined) each.leave()
  await waitFor(() => presence.stats().members === 0)
  for (const channel of ['c0', 'c1', 'c2', 'c3'])
    await waitFor(async () => (await presence.count(channel)) === 0, { timeoutMs: 60_000 })
  expect((await scripts()) - before).toBeLessThan(1000)
})

test('a member that leaves while all are being added again does not come back', { timeout: 120_000 }, async () => {
  const clock = virtualClock()
  const presence = await newPresence({ clock, beat: '1s', ttl: '3s' })
  const joined = await Promise.all(Array.from({ length: 5000 }, (_, i) => presence.join('c', `m${i}`)))
  await server.cli('FLUSHALL')
  await clock.advance('1s')
  await waitFor(async () => (await presence.count('c')) > 0)
  for (const each of joined.slice(1)) each.leave()
  await passing(clock, async () => (await presence.count('c')) === 1)
  expect(await presence.list('c')).toMatchObject([{ id: 'm0' }])
})

test('leaves and joins that Redis did not receive are all written later', { timeout: 120_000 }, async () => {
  const clock = virtualClock()
  const presence = await newPresence({ clock, beat: '1s', ttl: '60s', redisDeadline: '200ms' })
  const old = await Promise.all(Array.from({ length: 50 }, (_, i) => presence.join(`c${i % 7}`, `old ${i}`)))
  let failed = 0
  presence.on('failed', () => failed++)
  await server.freeze()
  const joining = Promise.all(Array.from({ length: 50 }, (_, i) => presence.join(`c${i % 7}`, `new ${i}`)))
  for (const each of old) each.leave()
  await clock.advance('1ms')
  await joining
  await waitFor(() => failed > 0)
  server.thaw()
  const counts = async () => Promise.all(Array.from({ length: 7 }, (_, i) => presence.list(`c${i}`)))
  await passing(clock, async () => {
    const ids = (await counts().catch(() => [])).flat().map(({ id }) => id)
    return ids.length === 50 && ids.every((id) => id.startsWith('new'))
  })
})

test('what a process writes before it notices that it was declared dead is removed in the end', async () => {
  const namespace = `late${namespaces++}`
  const clock = virtualClock()
  const suspended = await newPresence({ clock, ttl: '300ms', beat: '100ms', name: namespace })
  const other = await newPresence({ name: namespace, ttl: '300ms', beat: '100ms' })
  let swept = 0
  other.on('swept', () => swept++)
  await suspended.join('c', 'ann')
  await waitFor(() => swept === 1)
  await suspended.join('c', 'late')
  const homes = () => server.cli<string[]>('HKEYS', `{sluice:#presence/default/${namespace}/c}!counts`)
  expect(await homes()).toHaveLength(1)
  expect(await other.count('c')).toBe(0)
  const [dead] = await homes()
  await passing(clock, async () => (await other.count('c')) === 2 && !(await homes()).includes(dead!))
  expect(await homes()).toHaveLength(1)
})

test('a member that is in two processes stays until it left both, whichever dies', async () => {
  const namespace = `both ${namespaces++}`
  const clock = virtualClock()
  const dying = await newPresence({ clock, ttl: '300ms', beat: '100ms', name: namespace })
  const other = await newPresence({ name: namespace, ttl: '300ms', beat: '100ms' })
  await dying.join('c', 'ann', 1)
  const membership = await other.join('c', 'ann', 2)
  let swept = 0
  other.on('swept', () => swept++)
  await waitFor(() => swept === 1)
  expect(await other.list('c')).toEqual([{ id: 'ann', data: 2 }])
  membership.leave()
  await waitFor(async () => (await other.count('c')) === 0)
})

test('foreign messages on the channel of changes are ignored', async () => {
  const presence = await newPresence({ name: 'foreign' })
  const seen: string[] = []
  open.push({ close: presence.watch('c', ({ id }) => seen.push(id)) })
  const channel = 'sluice:#presence/default/foreign/#changes/c'
  await waitFor(async () => (await server.cli<string[]>('PUBSUB', 'CHANNELS', channel)).length === 1)
  for (const text of ['', '{', 'null', '[]', '{"type":"gone","id":"x"}', '{"type":"join","id":1,"data":"1"}'])
    await server.cli('PUBLISH', channel, text)
  await presence.join('c', 'ann')
  await waitFor(() => seen.length > 0)
  expect(seen).toEqual(['ann'])
})

test('channels and members that users name never collide, whatever their names', async () => {
  const presence = await newPresence()
  const names = [
    '__proto__',
    'constructor',
    'a/b',
    'a',
    'b',
    '{x}',
    '*',
    '#processes',
    '\u0000',
    'é',
    ' ',
    'x'.repeat(5000),
  ]
  const joined: Membership[] = []
  for (const [i, name] of names.entries()) joined.push(await presence.join(name, names[(i + 1) % names.length]!, name))
  for (const [i, name] of names.entries())
    expect(await presence.list(name)).toEqual([{ id: names[(i + 1) % names.length], data: name }])
  for (const each of joined) each.leave()
  for (const name of names) await waitFor(async () => (await presence.count(name)) === 0)
  for (const wrong of ['', 1, undefined, null, {}]) {
    await expect(presence.join(wrong as never, 'id')).rejects.toThrow('channel')
    await expect(presence.join('c', wrong as never)).rejects.toThrow('id')
  }
})

test('a client that never reads its socket is cut off, and what waits for it is bounded', {
  timeout: 60_000,
}, async () => {
  const presence = await newPresence()
  const maxBufferedBytes = 100_000
  let longest = 0
  const http = createServer((_, response) => {
    const { write } = response
    response.write = ((text: string) => {
      longest = Math.max(longest, response.writableLength)
      return write.call(response, text, 'utf8')
    }) as typeof response.write
    void sendEvents(presence, response, { channel: 'flood', id: 'slow', maxBufferedBytes })
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  open.push({ close: () => http.close() })
  const call = request({ port: (http.address() as AddressInfo).port, host: '127.0.0.1' }, (response) => {
    response.on('error', () => undefined)
    response.pause()
  })
  call.on('error', () => undefined)
  call.end()
  open.push({ close: () => call.destroy() })
  await waitFor(async () => (await presence.count('flood')) === 1)
  await waitFor(async () => {
    for (let i = 0; i < 20; i++) await presence.publish('flood', 'x'.repeat(20_000))
    return presence.stats().members === 0
  })
  expect(longest).toBeLessThan(maxBufferedBytes + 25_000)
})

test('wrong use is refused before anything is sent', async () => {
  const presence = await newPresence()
  await expect(presence.publish('c', 1, { event: 'a\nb' })).rejects.toThrow('use a name of one line')
  await expect(presence.publish('c', undefined)).rejects.toThrow('publish message is undefined')
  expect(() => presence.watch('c', undefined as never)).toThrow('watch listener is undefined; pass a function')
  expect(() => presence.subscribe('c', undefined as never)).toThrow('subscribe listener is undefined; pass a function')
})

test('a stream that cannot join is ended, not left open', async () => {
  const presence = await newPresence()
  await presence.close()
  const failures: unknown[] = []
  const http = createServer((_, response) => {
    sendEvents(presence, response, { channel: 'c', id: 'ann' }).catch((error) => failures.push(error))
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  open.push({ close: () => http.close() })
  await fetch(`http://127.0.0.1:${(http.address() as AddressInfo).port}`)
    .then((response) => response.text())
    .catch(() => undefined)
  expect(failures).toMatchObject([{ code: 'SLUICE_CLOSED' }])
})
