import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createShipper } from 'sluice/shipper'
import { waitFor } from 'sluice/testing'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { buildCli, startCli } from '../cli/testing/run-cli.ts'
import { type CollectConfig, type Collector, collect } from './collect.ts'

beforeAll(() => buildCli())

const opened: (() => unknown)[] = []
afterEach(async () => {
  for (const close of opened.splice(0).reverse()) await close()
})

const tempFile = () => join(mkdtempSync(join(tmpdir(), 'sluice-collect-attack-')), 'events.ndjson')

async function start(target: CollectConfig['target']): Promise<Collector> {
  const collector = await collect(
    {
      ...{ host: '127.0.0.1', port: 0, portGiven: true, path: '/v1/events', service: 'collector', drainMs: 1000 },
      ...{ target, redis: undefined, policy: undefined, tokens: undefined, tls: undefined },
    },
    false,
  )
  opened.push(() => collector.close())
  return collector
}

/** A server behind the collector whose answers a test chooses. */
async function startTarget(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  opened.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`
}

const post = (url: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body: body as string })
const batch = (...ids: string[]) => JSON.stringify({ events: ids.map((id) => ({ id, data: { id } })) })
const idsIn = (file: string) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [(JSON.parse(line) as { id: string }).id]
      } catch {
        return []
      }
    })

test('an event that follows half a line of a killed collector can be read', async () => {
  const file = tempFile()
  writeFileSync(file, '{"id":"p-1","data":1}\n{"id":"p-2","da')
  const { url } = await start({ file })
  expect((await post(url, batch('p-2', 'p-3'))).status).toBe(200)
  expect(idsIn(file)).toEqual(['p-1', 'p-2', 'p-3'])
})

test('a full disk acknowledges nothing', async () => {
  const { url } = await start({ file: '/dev/full' })
  for (let again = 0; again < 2; again++) expect((await post(url, batch('p-1', 'p-2'))).status).toBe(503)
})

test('an event that cannot be written does not hold up the others', async () => {
  const file = tempFile()
  const { url } = await start({ file })
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
  const body = `{"events":[{"id":"p-1","data":1},{"id":"p-2","data":${deep}},{"id":"p-3","data":3}]}`
  const { results } = (await (await post(url, body)).json()) as { results: { id: string; status: string }[] }
  expect(results.map(({ status }) => status)).toEqual(['ok', 'rejected', 'ok'])
  expect(idsIn(file)).toEqual(['p-1', 'p-3'])
})

test('what the server behind asks to retry is not acknowledged; what it refuses is reported', async () => {
  let results: unknown = [{ id: 'p-1', status: 'ok' }]
  const { url } = await start({
    url: await startTarget((_, response) => response.end(JSON.stringify({ results }))),
  })
  // The second event is not mentioned, so it is not acknowledged.
  expect((await post(url, batch('p-1', 'p-2'))).status).toBe(503)
  results = [
    { id: 'p-1', status: 'duplicate' },
    { id: 'p-2', status: 'rejected', reason: 'no such field' },
  ]
  expect(await (await post(url, batch('p-1', 'p-2'))).json()).toEqual({
    results: [
      { id: 'p-1', status: 'ok' },
      { id: 'p-2', status: 'rejected', reason: 'no such field' },
    ],
  })
})

test.each([
  ['a web page', '<html>', 'text/html; charset=utf-8'],
  ['a web page without a content type', '<!doctype html>', ''],
  ['a web page as text', '\n <html>', 'text/plain'],
  ['results that are no list', '{"results":"all"}', 'application/json'],
  ['a status that does not exist', '{"results":[{"id":"p-1","status":"OK"}]}', 'application/json'],
  [
    'two answers',
    '{"results":[{"id":"p-1","status":"ok"},{"id":"p-1","status":"rejected"},{"id":"p-1","status":"ok"}]}',
    'application/json',
  ],
])('%s from the server behind acknowledges nothing', async (_, answer, type) => {
  const target = await startTarget((_, response) => response.setHeader('content-type', type).end(answer))
  const { url } = await start({ url: target })
  expect((await post(url, batch('p-1'))).status).toBe(503)
})

test.each([
  [400, 400],
  [413, 413],
  [422, 400],
  [418, 400],
  [401, 503],
  [404, 503],
  [429, 503],
  [500, 503],
  [302, 503],
])('the server behind answers %i, and the shipper gets %i', async (status, expected) => {
  const target = await startTarget((_, response) => response.writeHead(status, { location: '/elsewhere' }).end())
  const { url } = await start({ url: target })
  expect((await post(url, batch('p-1'))).status).toBe(expected)
})

test('a server behind that hangs up in the middle of its answer has acknowledged nothing', async () => {
  const target = await startTarget((_, response) => {
    response.writeHead(200, { 'content-length': '1000' })
    response.write('{"results":[')
    setTimeout(() => response.destroy(), 20)
  })
  const { url } = await start({ url: target })
  expect((await post(url, batch('p-1'))).status).toBe(503)
})

test('the refusal of an unreadable body names what is wrong', async () => {
  const file = tempFile()
  const { url } = await start({ file })
  expect((await post(url, 'x', { 'content-encoding': 'br' })).status).toBe(415)
  expect((await post(url, 'no gzip', { 'content-encoding': 'gzip' })).status).toBe(400)
  expect((await post(`${url}/capacity`, `{"shipper":"${'x'.repeat(10_000)}"}`)).status).toBe(413)
  for (const body of ['', 'null', '[]', '{"shipper":{"a":1}}', '{"shipper":null,"pending":-1e400}', '\0']) {
    const answer = (await (await post(`${url}/capacity`, body)).json()) as { ready: boolean }
    expect(answer.ready).toBe(true)
  }
  expect(idsIn(file)).toEqual([])
})

test('a body that comes slowly delays no other request', async () => {
  const file = tempFile()
  const { url } = await start({ file })
  const { port, pathname } = new URL(url)
  const socket = connect(Number(port), '127.0.0.1')
  opened.push(() => socket.destroy())
  socket.write(`POST ${pathname} HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\n{"events":[`)
  await once(socket, 'connect')
  expect((await post(url, batch('p-1'))).status).toBe(200)
  expect(idsIn(file)).toEqual(['p-1'])
})

async function startProcess(file: string, port: number): Promise<{ child: ChildProcess; url: string }> {
  const child = startCli(['collect', '--file', file, '--port', String(port), '--json'])
  opened.push(() => child.kill('SIGKILL'))
  let text = ''
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  const [, url = ''] = await waitFor(() => /"url": *"([^"]+)"/.exec(text), {
    describe: 'the collector to say where it is',
    timeoutMs: 60_000,
  })
  return { child, url }
}

test('a collector that is killed again and again has every event that it acknowledged', async () => {
  const file = tempFile()
  let { child, url } = await startProcess(file, 0)
  const { port } = new URL(url)
  const acknowledged: string[] = []
  let sending = true
  let next = 1
  const sender = async (name: string) => {
    for (; sending; next++) {
      const id = `${name}-${next}`
      const answer = await post(url, JSON.stringify({ events: [{ id, data: 'x'.repeat(next % 5000) }] })).catch(
        () => undefined,
      )
      if (answer?.status === 200 && (await answer.text().catch(() => '')).includes('"ok"')) acknowledged.push(id)
      else await new Promise((resolve) => setTimeout(resolve, 5))
    }
  }
  const senders = ['a', 'b', 'c', 'd'].map(sender)
  for (let kill = 0; kill < 4; kill++) {
    const before = acknowledged.length
    await waitFor(() => acknowledged.length > before + 20, { describe: 'events to be taken in' })
    child.kill('SIGKILL')
    await once(child, 'close')
    ;({ child, url } = await startProcess(file, Number(port)))
  }
  sending = false
  await Promise.all(senders)
  const kept = new Set(idsIn(file))
  expect(acknowledged.filter((id) => !kept.has(id))).toEqual([])
  expect(acknowledged.length).toBeGreaterThan(80)
})

test('requests after one that was too large succeed on whatever connection they use', async () => {
  const { url } = await start({ file: tempFile() })
  const tooLarge = JSON.stringify({ events: [{ id: 'p-1', data: 'x'.repeat(17 << 20) }] })
  for (let n = 0; n < 5; n++) {
    const statuses: number[] = []
    for (const body of [tooLarge, batch(`p-${n}`), batch(`q-${n}`)]) {
      const answer = await post(url, body)
      await answer.text()
      statuses.push(answer.status)
    }
    expect(statuses).toEqual([413, 200, 200])
  }
})

test('SIGTERM answers the batches in flight, and ends', async () => {
  const file = tempFile()
  const { child, url } = await startProcess(file, 0)
  const shipper = await createShipper({ dir: join(file, '..', 'buffer'), endpoint: url, flushInterval: 5 })
  opened.push(() => shipper.close())
  const ids = Array.from({ length: 300 }, (_, n) => shipper.ship({ n }))
  await Promise.all(ids)
  await waitFor(() => shipper.stats().sent > 0, { describe: 'the first batch' })
  child.kill('SIGTERM')
  const [code] = (await once(child, 'close')) as [number | null]
  expect(code).toBe(0)
  await waitFor(() => shipper.stats().consecutiveFailures > 0 || shipper.stats().pending === 0, {
    describe: 'the shipper to notice',
    timeoutMs: 60_000,
  })
  // What the shipper considers sent is in the file, once.
  const kept = idsIn(file)
  expect(new Set(kept).size).toBe(kept.length)
  expect(kept.length).toBe(shipper.stats().sent)
})
