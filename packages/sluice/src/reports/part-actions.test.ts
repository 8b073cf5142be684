import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Breakers, createBreakers } from '../breaker/breakers.ts'
import { createBreaker } from '../breaker/create-breaker.ts'
import { SluiceError } from '../core/errors.ts'
import type { Report, ReportPart } from '../core/observe/report.ts'
import { createLimiter } from '../limiter/create-limiter.ts'
import type { RedisOptions } from '../redis/redis-options.ts'
import { createShipper } from '../shipper/create-shipper.ts'
import type { Shipper } from '../shipper/shipper.ts'
import { openRedis } from '../stores/redis/open-redis.ts'
import { type RedisServer, startRedis } from '../testing/servers/redis.ts'
import { modelFiles } from '../testing/shipper/model-files.ts'
import { waitFor } from '../testing/wait-for.ts'
import { buildReport } from './build-report.ts'
import { PartActions } from './part-actions.ts'
import { readReport } from './read-report.ts'
import { openReports } from './redis-fleet.ts'

const part = (name: string, actions: ReportPart['actions']): ReportPart => ({
  ...{ kind: 'job', name, stats: () => ({}), ...(actions && { actions }) },
})
const orderOf = (action: string, name = 'a', item?: string) => ({ kind: 'job', name, item, action })
const reporting = { service: 'shop', replica: 'r1', host: 'h', pid: 1, startedAt: 5 }

describe('actions of a process', () => {
  const begin = (actions: PartActions, parts: readonly ReportPart[], ...orders: object[]): void =>
    actions.begin(
      orders.map((each, i) => ({ id: `${i}`, text: JSON.stringify(each) })),
      parts,
    )

  test('are done by name with their item, and nothing but them', async () => {
    const actions = new PartActions()
    const asked = vi.fn(async (item: string | undefined) => `did ${item}`)
    const parts = [part('a', { go: asked }), part('twice', { go: asked }), part('twice', { go: asked })]
    begin(actions, parts, orderOf('go', 'a', 'x'), orderOf('constructor'), orderOf('go', 'twice'), orderOf('go', 'b'))
    actions.begin([{ id: '4', text: 'null' }], parts)
    await waitFor(() => actions.results.every(({ state }) => state !== 'running'))
    expect(asked.mock.calls).toEqual([['x']])
    expect([...actions.results].sort((a, b) => a.id.localeCompare(b.id))).toEqual([
      { id: '0', state: 'done', text: 'did x' },
      ...['1', '2', '3'].map((id) => ({ id, state: 'failed', text: 'SLUICE_WRONG_USE' })),
      { id: '4', state: 'failed', text: 'failed' },
    ])
  })

  test('that fail show the code, and never the message', async () => {
    const actions = new PartActions()
    const fail = (error: Error) => () => Promise.reject(error)
    const known = new SluiceError('SLUICE_BUFFER_FAILED', 'secret')
    begin(
      actions,
      [part('a', { known: fail(known), own: fail(new Error('secret')) })],
      orderOf('known'),
      orderOf('own'),
    )
    await waitFor(() => actions.results.every(({ state }) => state === 'failed'))
    expect(actions.results.map(({ text }) => text).sort()).toEqual(['SLUICE_BUFFER_FAILED', 'failed'])
  })

  test('run once at a time, and the last eight are remembered', async () => {
    const actions = new PartActions()
    let resolve = (): void => {}
    const asked = vi.fn(() => new Promise<void>((done) => (resolve = done)))
    const parts = [part('a', { go: asked })]
    begin(actions, parts, ...Array.from({ length: 12 }, () => orderOf('go')))
    expect(asked).toHaveBeenCalledTimes(1)
    expect(actions.results).toHaveLength(8)
    expect(new Set(actions.results.map(({ text }) => text))).toEqual(new Set(['SLUICE_OVERLOADED']))
    resolve()
    await waitFor(() => actions.results.at(-1)?.state === 'done')
    begin(actions, parts, orderOf('go'))
    expect(asked).toHaveBeenCalledTimes(2)
  })

  test('are offered only where they are allowed, and by a part that no other part has the name of', () => {
    const parts = [part('a', { go() {} }), part('twice', { go() {} }), part('twice', {}), part('none', undefined)]
    const offers = (report: Report | undefined) => report!.sections.map(({ actions }) => actions)
    expect(offers(readReport(buildReport(reporting, parts)))).toEqual([undefined, undefined, undefined, undefined])
    const results = [{ id: '1', state: 'done' as const, text: 'well' }]
    const allowed = readReport(buildReport(reporting, parts, results))
    expect(offers(allowed)).toEqual([['go'], undefined, undefined, undefined])
    expect(allowed!.results).toEqual(results)
  })

  test.each([
    { results: 'x' },
    { results: [{ id: '1', state: 'well', text: '' }] },
    { results: Array.from({ length: 9 }, () => ({ id: '1', state: 'done', text: '' })) },
    { sections: [{ kind: 'a', name: 'b', stats: 1, actions: [7] }] },
    { sections: [{ kind: 'a', name: 'b', stats: 1, actions: 'open' }] },
  ])('a report with %j is not read', (wrong) => {
    const text = JSON.stringify({ v: 1, ...reporting, sections: [], omitted: [], ...wrong })
    expect(readReport(text)).toBeUndefined()
  })
})

describe('actions through Redis', () => {
  const service = 'shop'
  const key = `sluice:#report/${service}/replicas`
  let server: RedisServer
  const closing: (() => unknown)[] = []
  beforeAll(async () => {
    server = await startRedis()
  })
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })
  afterAll(() => server.stop())

  const connect = (): Redis => {
    const client = new Redis({ port: server.port, lazyConnect: true })
    closing.push(() => client.disconnect())
    return client
  }
  /** As a daemon has it. */
  const daemon = () => {
    const reports = openReports(openRedis(connect(), { reports: false }))
    closing.push(() => reports.close())
    return reports
  }
  const startProcess = async (reports: NonNullable<RedisOptions['reports']>) => {
    const redis = openRedis(connect(), { service, reports })
    const batches: number[] = []
    const shipper: Shipper = await createShipper({
      ...{ dir: '/var/buffer', name: 'events', fs: modelFiles(), flushInterval: false },
      send: async (events) => void batches.push(events.length),
    })
    const breakers: Breakers = createBreakers({ name: 'models' })
    const single = createBreaker({ name: 'mail' })
    const limiter = await createLimiter({ limits: { rpm: 9 }, redis })
    closing.push(async () => {
      for (const each of [limiter, shipper, breakers, single, redis]) await each.close()
    })
    const reader = daemon()
    const report = async (): Promise<Report> => {
      await waitFor(async () => (await reader.read(service, 1000)).length > 0)
      return (await reader.read(service, 1000))[0]!.report
    }
    await report()
    return { shipper, breakers, single, batches, report }
  }
  const flush = { kind: 'shipper', name: 'events', action: 'flush' }

  test('are done once by a process that allows them, though two daemons order them', async () => {
    const { shipper, breakers, single, batches, report } = await startProcess({ actions: true })
    breakers.for('model-a')
    await shipper.ship({ n: 1 })
    const { replica, sections } = await report()
    const offered = Object.fromEntries(sections.map(({ kind, name, actions }) => [`${kind} ${name}`, actions]))
    expect(offered).toMatchObject({
      'shipper events': ['flush', 'resend'],
      'breaker models': ['open', 'close'],
      'breaker mail': ['open', 'close'],
    })
    expect(offered['limiter default']).toBeUndefined()
    const [a, b] = [daemon(), daemon()]
    const ids = await Promise.all([a, b].map((each) => each.order(service, replica, flush, 1000)))
    expect(ids).toEqual([
      { state: 'waiting', id: expect.any(String) },
      { state: 'waiting', id: expect.any(String) },
    ])
    expect(ids[0]).toEqual(ids[1])
    const breaker = { kind: 'breaker', action: 'open' }
    for (const each of [{ name: 'models', item: 'model-a' }, { name: 'models', item: 'model-z' }, { name: 'mail' }])
      await a.order(service, replica, { ...breaker, ...each }, 1000)
    await waitFor(async () => (await report()).results?.filter(({ state }) => state !== 'running').length === 4)
    expect((await report()).results?.map(({ text }) => text).sort()).toEqual([
      '',
      '',
      'SLUICE_INVALID_KEY',
      'drained, 1 sent, 0 rejected',
    ])
    expect(batches).toEqual([1])
    expect([breakers.for('model-a').stats().isolated, single.stats().isolated, breakers.size]).toEqual([true, true, 1])
    await a.order(service, replica, { ...breaker, name: 'mail', action: 'close' }, 1000)
    await waitFor(() => single.state === 'closed')
    expect(await server.cli('HEXISTS', key, `c:${replica}`)).toBe(0)
  })

  test('are not done without being allowed, nor when they have expired', async () => {
    const silent = await startProcess(true)
    const { replica, sections } = await silent.report()
    expect(sections.flatMap(({ actions }) => actions ?? [])).toEqual([])
    const taken = (): Promise<unknown> => waitFor(async () => (await server.cli('HEXISTS', key, `c:${replica}`)) === 0)
    await daemon().order(service, replica, { kind: 'breaker', name: 'mail', action: 'open' }, 1000)
    await taken()
    expect([silent.single.state, (await silent.report()).results]).toEqual(['closed', []])
    for (const close of closing.splice(0).reverse()) await close()

    const allowed = await startProcess({ actions: true })
    const other = (await allowed.report()).replica
    const write = `redis.call('HSET', KEYS[1], ARGV[1], cmsgpack.pack({{ ARGV[2] + 0, 'late', ARGV[3] }}))`
    const text = JSON.stringify({ kind: 'breaker', name: 'mail', action: 'open' })
    await server.cli('EVAL', write, '1', key, `c:${other}`, '1000', text)
    await waitFor(async () => (await server.cli('HEXISTS', key, `c:${other}`)) === 0)
    expect([allowed.single.state, (await allowed.report()).results]).toEqual(['closed', []])
  })

  test('wait in bounded number, for processes that report, and go with the report', async () => {
    const reports = daemon()
    const send = (replica: string) => reports.send('mail', replica, buildReport({ ...reporting, replica }, []), 1000)
    const order = (replica: string, name: string) => reports.order('mail', replica, { ...flush, name }, 1000)
    expect(await order('r1', 'a')).toEqual({ state: 'absent' })
    await send('r1')
    for (let i = 0; i < 8; i++) expect(await order('r1', `${i}`)).toMatchObject({ state: 'waiting' })
    expect(await order('r1', 'one more')).toEqual({ state: 'full' })
    const again = await order('r1', '0')
    expect(await order('r1', '0')).toEqual(again)
    const fields = async (): Promise<string[]> =>
      ((await server.cli('HKEYS', 'sluice:#report/mail/replicas')) as string[]).sort()
    expect(await fields()).toEqual(['c:r1', 'd:r1', 'pruned', 't:r1'])
    await reports.remove('mail', 'r1', 1000)
    expect(await fields()).toEqual(['pruned'])
    // As if the process had been killed eleven seconds ago, and an older version had pruned another one.
    await send('killed')
    await order('killed', 'a')
    const past = String((Date.now() - 11_000) * 1000)
    await server.cli('HSET', 'sluice:#report/mail/replicas', 't:killed', past, 'pruned', past, 'c:orphan', 'x')
    expect(await order('killed', 'b')).toEqual({ state: 'absent' })
    await send('r2')
    expect(await fields()).toEqual(['d:r2', 'pruned', 't:r2'])
  })

  test.each([
    ['actions', /openRedis\.reports is "actions"; use true, false or \{ actions: true \}/],
    [{ action: true }, /openRedis\.reports\.action .*did you mean "actions"/],
    [{ actions: 1 }, /openRedis\.reports\.actions is 1; use true or false/],
  ])('are allowed by no other option: %j', (reports, message) => {
    expect(() => openRedis(connect(), { reports: reports as never })).toThrow(message)
  })
})
