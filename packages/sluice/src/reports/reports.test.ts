import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { maxReportBytes, type ReportPart } from '../core/observe/report.ts'
import { createLimiter } from '../limiter/create-limiter.ts'
import type { RedisHandle } from '../redis/handle.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { waitFor } from '../testing/wait-for.ts'
import { buildReport } from './build-report.ts'
import { daemonReports } from './daemon-reports.ts'
import type { ReportDestination } from './destination.ts'
import { memoryReports } from './memory-reports.ts'
import { readReport } from './read-report.ts'
import { openReports } from './redis-fleet.ts'
import { partReport, startReports } from './start-reports.ts'

const reporting = { service: 'shop', replica: 'r1', host: 'h', pid: 1, startedAt: 5 }
const part = (name: string, stats: unknown): ReportPart => ({ kind: 'cache', name, stats: () => stats })

describe('a report', () => {
  test('has a section for each part, and is read as it was written', () => {
    const report = readReport(buildReport(reporting, [part('a', { hits: 1 }), part('b', [2])]))
    expect(report).toMatchObject({ v: 1, ...reporting, omitted: [] })
    expect(report!.sections).toEqual([
      { kind: 'cache', name: 'a', id: expect.any(Number), stats: { hits: 1 } },
      { kind: 'cache', name: 'b', id: expect.any(Number), stats: [2] },
    ])
  })

  test('never grows beyond its bound, and one part never keeps the others from reporting', () => {
    const broken: ReportPart = {
      kind: 'cache',
      name: 'broken',
      stats: () => {
        throw new Error('no')
      },
    }
    const parts = [
      part('large', 'x'.repeat(maxReportBytes)),
      part('wide', '\u{1F30A}'.repeat(14_000)),
      broken,
      part('small', 1),
      ...Array.from({ length: 100 }, (_, i) => part(`many-${i}`, i)),
    ]
    const text = buildReport(reporting, parts)
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxReportBytes)
    const report = readReport(text)!
    expect(report.sections.map(({ name }) => name)).toContain('small')
    expect(report.omitted).toEqual(expect.arrayContaining(['cache large', 'cache broken']))
  })

  test.each([
    ['nothing', ''],
    ['another version', JSON.stringify({ v: 2, ...reporting, sections: [], omitted: [] })],
    ['no replica', JSON.stringify({ v: 1, service: 's', host: 'h', pid: 1, startedAt: 1, sections: [], omitted: [] })],
    ['a section that is none', JSON.stringify({ v: 1, ...reporting, sections: [7], omitted: [] })],
    ['a pid that is none', JSON.stringify({ v: 1, ...reporting, pid: 'x', sections: [], omitted: [] })],
    ['too large', JSON.stringify({ v: 1, ...reporting, sections: [], omitted: ['x'.repeat(maxReportBytes)] })],
  ])('that is %s is not read', (_, text) => expect(readReport(text)).toBeUndefined())
})

describe('reporting', () => {
  test('goes on after a failure, sends one at a time, and takes the report back at the end', async () => {
    const clock = virtualClock()
    const calls: string[] = []
    let isAway = true
    const to: ReportDestination = {
      description: 'test',
      send: async (service) => {
        calls.push(`send ${service}`)
        if (isAway) throw new Error('away')
      },
      remove: async () => void calls.push('remove'),
      close: async () => void calls.push('close'),
    }
    const reports = startReports({ service: 'shop', to, parts: [], clock })
    const heard: string[] = []
    reports.on('failed', ({ error }) => heard.push(error.message))
    reports.on('sent', () => heard.push('sent'))
    await reports.send()
    isAway = false
    await clock.advance(2000)
    await waitFor(() => heard.includes('sent'))
    expect(heard).toEqual(['away', 'sent'])
    await reports.close()
    await reports.close()
    await clock.advance(10_000)
    expect(calls).toEqual(['send shop', 'send shop', 'remove', 'close'])
  })

  test.each([
    [{ service: '' }, /startReports\.service/],
    [{ every: 20_000 }, /startReports\.every is 20000; use 100 ms to 5 s/],
    [{ part: [] }, /startReports\.part .*did you mean "parts"/],
    [{ to: undefined }, /startReports\.to is undefined; give daemonReports/],
    [{ parts: undefined }, /startReports\.parts is undefined; give a list/],
  ])('refuses %j', (options, message) => {
    const all = { service: 's', to: memoryReports(), parts: [], ...options } as never
    expect(() => startReports(all)).toThrow(message)
  })

  test('parts and daemons that are none are refused where they are named', () => {
    const promise = Promise.resolve({ stats: () => 1 })
    for (const part of [undefined, promise])
      expect(() => partReport('limiter', part as never)).toThrow(
        /partReport\("limiter"\) part is .*pass the part itself/,
      )
    expect(() => daemonReports('nope', undefined as never)).toThrow(/daemonReports url is "nope"; use http/)
    expect(() => daemonReports('http://a.example', undefined as never)).toThrow(/daemonReports options is undefined/)
  })
})

test('a limiter counts from the first look, and reports rules with their hottest keys', async () => {
  const limiter = await createLimiter({ policy: { service: 'shop', rules: [{ name: 'r', limits: { rpd: 2 } }] } })
  limiter.stats()
  for (let i = 0; i < 3; i++) await limiter.take('a')
  const { decisions, rules, recent } = limiter.stats()
  expect(decisions).toEqual({ allowed: 2, denied: 1, degraded: 0 })
  expect(rules).toMatchObject([{ rule: 'r', hottest: [{ key: 'shop/r/a', count: 2 }], mostDenied: [{ count: 1 }] }])
  expect(recent).toHaveLength(60)
  for (let i = 0; i < 3000; i++) await limiter.take(`${'long'.repeat(20)}${i}`)
  expect(JSON.stringify(limiter.stats()).length).toBeLessThan(maxReportBytes / 2)
  await limiter.close()
})

test('reports in memory are bounded, expire, and are replaced by newer ones', async () => {
  let nowMs = 0
  const reports = memoryReports(() => nowMs)
  const text = (replica: string, stats: unknown = 1): string =>
    buildReport({ ...reporting, replica }, [part('p', stats)])
  const large = 'x'.repeat(60_000)
  let refused = 0
  for (let i = 0; i < 400; i++) await reports.send('shop', `r${i}`, text(`r${i}`, large), 0).catch(() => refused++)
  expect(refused).toBeGreaterThan(100)
  expect(400 - refused).toBeGreaterThan(250)
  // One that is there already can always say something new.
  await reports.send('shop', 'r0', text('r0', 2), 0)
  expect((await reports.read('shop', 0)).find(({ report }) => report.replica === 'r0')).toMatchObject({
    report: { sections: [{ stats: 2 }] },
  })
  await expect(reports.send('shop', 'x', '{}', 0)).rejects.toThrow('not a report')
  nowMs = 10_001
  expect(await reports.read('shop', 0)).toEqual([])
  await reports.send('shop', 'again', text('again', large), 0)
  expect(await reports.read('shop', 0)).toHaveLength(1)
})

test('reports in memory are of at most 1,000 processes, however small', async () => {
  const reports = memoryReports(() => 0)
  const answers = await Promise.allSettled(
    Array.from({ length: 1500 }, (_, i) =>
      reports.send('shop', `r${i}`, buildReport({ ...reporting, replica: `r${i}` }, [part('p', 1)]), 0),
    ),
  )
  expect(answers.map(({ status }) => status)).toEqual([
    ...Array(1000).fill('fulfilled'),
    ...Array(500).fill('rejected'),
  ])
  expect(await reports.read('shop', 0)).toHaveLength(1000)
})

test('a daemon that is away, or does not answer, is named with the reason', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const base = `http://127.0.0.1:${(silent.address() as AddressInfo).port}`
  const to = daemonReports(base, { token: 'secret-token' })
  await expect(to.send('s', 'r', '{}', 50)).rejects.toMatchObject({
    code: 'SLUICE_REPORT_FAILED',
    transient: true,
    message: `${base}/v1/reports cannot be reached: no answer within 50 ms.`,
  })
  silent.closeAllConnections()
  silent.close()
  await once(silent, 'close')
  await expect(to.send('s', 'r', '{}', 5000)).rejects.toMatchObject({
    code: 'SLUICE_REPORT_FAILED',
    message: expect.stringMatching(/^http:.* cannot be reached: connect ECONNREFUSED /),
  })
})

test('a redirect never takes the token to another host', async () => {
  const seen: (string | undefined)[] = []
  const elsewhere = createServer((request, response) => {
    seen.push(request.headers['x-sluice-token'] as string | undefined)
    response.end()
  }).listen(0, '127.0.0.1')
  await once(elsewhere, 'listening')
  const { port } = elsewhere.address() as AddressInfo
  const daemon = createServer((_, response) => {
    response.writeHead(307, { location: `http://localhost:${port}/` }).end()
  }).listen(0, '127.0.0.1')
  await once(daemon, 'listening')
  const to = daemonReports(`http://127.0.0.1:${(daemon.address() as AddressInfo).port}`, { token: 'secret-token' })
  await expect(to.send('s', 'r', '{}', 1000)).rejects.toThrow()
  expect(seen).toEqual([])
  elsewhere.close()
  daemon.close()
})

describe('reports in Redis', () => {
  let server: RedisServer
  let client: Redis
  let handle: RedisHandle
  beforeAll(async () => {
    server = await startRedis()
    client = new Redis({ port: server.port, lazyConnect: true })
    handle = openRedis(client, { reports: false })
  })
  afterAll(async () => {
    client.disconnect()
    await server.stop()
  })
  const key = 'sluice:#report/shop/replicas'
  const services = 'sluice:#report/services'

  test('of all processes are read together, by service', async () => {
    const [a, b, reader] = [openReports(handle), openReports(handle), openReports(handle)]
    const [one, two] = [
      startReports({ service: 'shop', to: a, parts: [partReport('cache', { stats: () => ({ hits: 1 }) }, 'prices')] }),
      startReports({ service: 'shop', to: b, parts: [] }),
    ]
    await Promise.all([one.send(), two.send()])
    await waitFor(async () => (await reader.read('shop', 1000)).length === 2)
    const found = await reader.read('shop', 1000)
    expect(found.map(({ report }) => report.replica).sort()).toEqual([one.replica, two.replica].sort())
    expect(found.flatMap(({ report }) => report.sections)).toEqual([
      { kind: 'cache', name: 'prices', id: expect.any(Number), stats: { hits: 1 } },
    ])
    expect(await reader.read('other', 1000)).toEqual([])
    await one.close()
    expect((await reader.read('shop', 1000)).map(({ report }) => report.replica)).toEqual([two.replica])
    await two.close()
    expect(await reader.read('shop', 1000)).toEqual([])
    await reader.close()
  })

  test('expire after ten seconds, also when others go on, and leave nothing behind', async () => {
    const reports = openReports(handle)
    const text = (replica: string): string => buildReport({ ...reporting, replica }, [])
    await reports.send('shop', 'old', text('old'), 1000)
    // As if it had come eleven seconds ago, and nobody had looked since.
    const past = String((Date.now() - 11_000) * 1000)
    await server.cli('HSET', key, 't:old', past, 'pruned', past)
    expect(await reports.read('shop', 1000)).toEqual([])
    await reports.send('shop', 'new', text('new'), 1000)
    expect((await reports.read('shop', 1000)).map(({ report }) => report.replica)).toEqual(['new'])
    expect(((await server.cli('HKEYS', key)) as string[]).sort()).toEqual(['d:new', 'pruned', 't:new'])
    expect(Number(await server.cli('PTTL', key))).toBeGreaterThan(0)
    expect(Number(await server.cli('PTTL', key))).toBeLessThanOrEqual(10_000)
    await reports.close()
  })

  test('list their services, whatever their names, until half a minute after the last report', async () => {
    const reports = openReports(handle)
    const names = ['shop', 'a/b {x} #1', '__proto__', '\u202e<b>', ' ', 'late']
    const send = (service: string): Promise<void> => reports.send(service, 'r', buildReport(reporting, []), 1000)
    for (const name of names) await Promise.all([send(name), send(name)])
    expect(await reports.services(1000)).toEqual(expect.arrayContaining(names))
    await server.cli('ZADD', services, String((Date.now() - 31_000) * 1000), 'late')
    expect(await reports.services(1000)).not.toContain('late')
    // Whoever reports says so once per ten seconds, not each time.
    await server.cli('ZREM', services, 'shop')
    await send('shop')
    expect(await reports.services(1000)).not.toContain('shop')
    await server.cli('HSET', key, 'pruned', String((Date.now() - 11_000) * 1000))
    await send('shop')
    expect(await reports.services(1000)).toContain('shop')
    expect(Number(await server.cli('PTTL', services))).toBeLessThanOrEqual(30_000)
    await reports.close()
  })

  test('of more than 1,000 services list 1,000, and those that are listed stay', async () => {
    const reports = openReports(handle)
    await server.cli('DEL', services)
    const text = buildReport(reporting, [])
    await Promise.all(Array.from({ length: 1200 }, (_, i) => reports.send(`many-${i}`, 'r', text, 5000)))
    const listed = await reports.services(1000)
    expect(listed).toHaveLength(1000)
    await server.cli('HDEL', `sluice:#report/${listed[0]}/replicas`, 'pruned')
    await reports.send(listed[0]!, 'r', text, 1000)
    expect(new Set(await reports.services(1000))).toEqual(new Set(listed))
    expect((await reports.read('many-1199', 1000)).length).toBe(1)
    await reports.close()
  })

  test('arrive also where the list of services cannot be kept', async () => {
    const reports = openReports(handle)
    await server.cli('DEL', services)
    await server.cli('SET', services, 'something else')
    await reports.send('alone', 'r', buildReport({ ...reporting, service: 'alone' }, []), 1000)
    expect(await reports.read('alone', 1000)).toHaveLength(1)
    await expect(reports.services(1000)).rejects.toThrow()
    await server.cli('DEL', services)
    await reports.close()
  })

  test('that are no reports are ignored', async () => {
    const reports = openReports(handle)
    await reports.send('mail', 'good', buildReport({ ...reporting, replica: 'good' }, []), 1000)
    await reports.send('mail', 'bad', '{"v":99}', 1000)
    expect((await reports.read('mail', 1000)).map(({ report }) => report.replica)).toEqual(['good'])
    await reports.close()
  })
})
