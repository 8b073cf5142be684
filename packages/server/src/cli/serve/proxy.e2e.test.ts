import { type ChildProcess, execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { startRedis, waitFor } from 'sluice/testing'
import { request } from 'undici'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { buildCli, type CliDaemon, runCli, startCli, startDaemon } from '../testing/run-cli.ts'

const run = promisify(execFile)
let folder: string
let policy: string
let vendor: Server
let seen: IncomingMessage[]
let respond: (request: IncomingMessage, response: ServerResponse) => void
const running: ChildProcess[] = []

beforeAll(() => {
  buildCli()
  folder = mkdtempSync(join(tmpdir(), 'sluice-proxy-'))
  policy = join(folder, 'sluice.yaml')
}, 180_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

beforeEach(async () => {
  seen = []
  respond = (request, response) => void request.pipe(response)
  vendor = createServer((request, response) => {
    seen.push(request)
    respond(request, response)
  }).listen(0, '127.0.0.1')
  await once(vendor, 'listening')
})
afterEach(async () => {
  for (const child of running.splice(0)) child.kill('SIGKILL')
  vendor.close()
  vendor.closeAllConnections()
})

function writePolicy(settings = 'limits: { rps: 100 }', rules = ''): void {
  const { port } = vendor.address() as AddressInfo
  const upstream = `{ name: vendor, origin: "http://127.0.0.1:${port}/api", ${settings} }`
  writeFileSync(policy, `service: ingestion\n${rules}upstreams: [${upstream}]\n`)
}

/** The proxy as a user starts it, once it has said where it is. */
async function startProxy(
  args: readonly string[] = [],
  env: Record<string, string> = {},
): Promise<Omit<CliDaemon, 'out'> & { lines(): Record<string, unknown>[] }> {
  const child = startCli(['proxy', '--policy', policy, '--port', '0', ...args], { cwd: folder, env })
  running.push(child)
  let [out, err] = ['', '']
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (err += text))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const [, url = ''] = await waitFor(
    () => {
      if (child.exitCode !== null) throw new Error(err)
      return /proxy at (http:\S+) for vendor/.exec(err)
    },
    { describe: 'the proxy to say where it is' },
  )
  const lines = () =>
    out
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  return { child, url, err: () => err, ended, lines }
}

const curl = async (...args: string[]): Promise<string> =>
  (await run('curl', ['--silent', '--max-time', '20', ...args], { maxBuffer: 1e7 })).stdout
const statusOf = (...args: string[]): Promise<string> =>
  curl('--output', '/dev/null', '--write-out', '%{http_code}', ...args)

describe('sluice proxy', () => {
  it('passes on what curl and undici send, answers what the vendor answered, and logs one line for each', async () => {
    writePolicy()
    const proxy = await startProxy(['--credential', 'vendor:authorization=KEY'], {
      KEY: 'Bearer vendor-key',
      INTERNAL_SERVICE_TOKEN: 'inside',
    })
    const token = ['--header', 'x-internal-token: inside']
    const body = 'body '.repeat(600_000)
    writeFileSync(join(folder, 'body'), body)
    // curl sends "Expect: 100-continue" before bodies of this size.
    const posted = await curl(...token, '--data-binary', `@${join(folder, 'body')}`, `${proxy.url}/graphql?key=secret`)
    expect(posted === body).toBe(true)
    expect(seen[0]).toMatchObject({ method: 'POST', url: '/api/graphql?key=secret' })
    expect(seen[0]!.headers).toMatchObject({ authorization: 'Bearer vendor-key' })
    expect(seen[0]!.headers['x-internal-token']).toBeUndefined()
    expect(await statusOf(`${proxy.url}/graphql`)).toBe('401')
    expect(await statusOf('--head', ...token, `${proxy.url}/vendor/x`)).toBe('200')
    const headers = { 'x-internal-token': 'inside', 'x-request-id': 'one' }
    const answer = await request(`${proxy.url}/vendor/put`, { method: 'PUT', body: 'from undici', headers })
    expect([answer.statusCode, await answer.body.text(), answer.headers['x-request-id']]).toEqual([
      200,
      'from undici',
      'one',
    ])
    expect(JSON.parse(await curl(`${proxy.url}/health`))).toEqual({ ok: true })
    expect(JSON.parse(await curl(`${proxy.url}/ready`))).toMatchObject({ ready: true })
    expect(await curl(`${proxy.url}/metrics`)).toMatch(/sluice_egress_\w+\{[^}]*upstream="vendor"/)
    await expect.poll(() => proxy.lines().filter(({ msg }) => msg === 'call').length).toBe(4)
    const line = proxy.lines().find(({ requestId }) => requestId === 'one')
    expect(line).toMatchObject({ level: 'info', upstream: 'vendor', method: 'PUT', path: '/vendor/put', status: 200 })
    expect(line).toMatchObject({
      waitMs: expect.any(Number),
      durationMs: expect.any(Number),
      traceId: expect.any(String),
    })
    for (const secret of ['secret', 'inside', 'vendor-key']) expect(JSON.stringify(proxy.lines())).not.toContain(secret)
    proxy.child.kill('SIGTERM')
    expect(await proxy.ended).toBe(0)
  })

  it('tells curl when to come back if its wait would be too long', async () => {
    writePolicy('limits: { amount: 1, per: 20s }, maxWait: 1s')
    const proxy = await startProxy()
    expect(proxy.err()).not.toContain('undefined')
    await expect
      .poll(() => proxy.lines().map(({ msg }) => msg))
      .toContainEqual(expect.stringContaining('INTERNAL_SERVICE_TOKEN'))
    expect(await statusOf(`${proxy.url}/x`)).toBe('200')
    const refused = await curl('--include', `${proxy.url}/x`)
    expect(refused).toMatch(/^HTTP\/1\.1 429 /)
    const [, seconds] = /^retry-after: (\d+)\r$/im.exec(refused) ?? []
    expect(Number(seconds)).toBeGreaterThan(10)
    expect(JSON.parse(refused.slice(refused.indexOf('{')))).toMatchObject({ reason: 'wait-too-long', status: 429 })
    expect(seen).toHaveLength(1)
  })

  it('answers at SIGTERM what it had accepted, also what still waits, and refuses new calls with 503', async () => {
    writePolicy('limits: { amount: 1, per: 2s }')
    let finish: () => void = () => {}
    respond = (_, response) => {
      finish = () => response.end('late')
    }
    const proxy = await startProxy()
    const written = curl(`${proxy.url}/first`)
    await waitFor(() => seen.length === 1)
    const waiting = curl(`${proxy.url}/second`)
    await waitFor(async () => /sluice_egress_queue_depth\{[^}]*\} 1/.test(await curl(`${proxy.url}/metrics`)))
    proxy.child.kill('SIGTERM')
    await waitFor(async () => (await statusOf(`${proxy.url}/ready`)) === '503')
    const refused = await curl('--include', `${proxy.url}/new`)
    expect(refused).toMatch(/^HTTP\/1\.1 503 /)
    expect(refused).toContain('"reason":"closed"')
    respond = (_, response) => void response.end('later')
    finish()
    expect(await written).toBe('late')
    expect(await waiting).toBe('later')
    expect(await proxy.ended).toBe(0)
    expect(proxy.lines().map(({ msg }) => msg)).toContain('ended')
    expect(seen.map(({ url }) => url)).toEqual(['/api/first', '/api/second'])
  })

  it('answers 503 to what is not over when its time to drain is, and ends at once at a second signal', async () => {
    writePolicy()
    respond = () => {}
    const proxy = await startProxy(['--drain', '300'])
    const cut = statusOf(`${proxy.url}/never`)
    await waitFor(() => seen.length === 1)
    proxy.child.kill('SIGTERM')
    expect(await cut).toBe('503')
    expect(await proxy.ended).toBe(0)
    const hasty = await startProxy()
    const lost = statusOf(`${hasty.url}/never`).catch(() => 'cut off')
    await waitFor(() => seen.length === 2)
    hasty.child.kill('SIGTERM')
    await waitFor(() => hasty.lines().some(({ signal }) => signal === 'SIGTERM'))
    hasty.child.kill('SIGTERM')
    expect(await hasty.ended).toBe(130)
    expect(await lost).toBe('cut off')
  })

  it.each([
    [['--port', '70000'], '--port'],
    [['--replicas', '0'], '--replicas'],
    [['--credential', 'vendor=KEY'], 'is not UPSTREAM:HEADER=VARIABLE'],
    [['--credential', 'vendor:authorization=NOT_SET'], 'NOT_SET'],
    [['--credential', 'vendor:Content-Length=PATH'], 'Content-Length is written by the proxy itself'],
  ] as const)(
    '%j ends with a message that says what is wrong',
    async (args, message) => {
      writePolicy()
      const ran = await runCli(['proxy', '--policy', policy, ...args], { cwd: folder })
      expect([ran.code, ran.err]).toEqual([2, expect.stringContaining(message)])
    },
    30_000,
  )

  it('has its share of a limit while Redis is away from the start, if it is told the number of replicas', async () => {
    writePolicy('limits: { amount: 5, per: 60s }, onStoreFailure: local, maxWait: 1s')
    const proxy = await startProxy(['--redis', 'redis://127.0.0.1:1', '--replicas', '2'])
    const statuses = await Promise.all([1, 2, 3].map(() => statusOf(`${proxy.url}/x`)))
    expect(statuses.sort()).toEqual(['200', '200', '429'])
    const unknown = await startProxy(['--redis', 'redis://127.0.0.1:1'])
    expect(await statusOf(`${unknown.url}/x`)).toBe('429')
  })

  it('says that its port is taken', async () => {
    writePolicy()
    const { port } = vendor.address() as AddressInfo
    const ran = await runCli(['proxy', '--policy', policy, '--port', `${port}`], { cwd: folder })
    expect([ran.code, ran.err]).toEqual([2, expect.stringContaining(`port ${port} of 127.0.0.1 is taken`)])
  })
})

describe('sluice serve --proxy-port', () => {
  it('serves the upstreams of its policy beside its rules, and top shows those of all processes', async () => {
    writePolicy('limits: { rps: 100 }', 'rules: [{ name: r, limits: { rpm: 5 } }]\n')
    const redis = await startRedis()
    const daemon = await startDaemon(
      ['--policy', policy, '--redis', redis.url, '--proxy-port', '0', '--proxy-credentials', 'vendor:x-key=KEY'],
      { cwd: folder, env: { KEY: 'of the vendor', INTERNAL_SERVICE_TOKEN: 'inside' } },
    )
    running.push(daemon.child)
    const other = await startProxy(['--redis', redis.url])
    const [, url = ''] = /proxy (http:\S+)/.exec(daemon.err()) ?? []
    const token = ['--header', 'x-internal-token: inside']
    expect(await curl(...token, '--data', 'hello', `${url}/vendor/x`)).toBe('hello')
    expect(seen[0]!.headers['x-key']).toBe('of the vendor')
    expect(await statusOf(`${url}/vendor/x`)).toBe('401')
    expect(await curl('--data', 'again', `${other.url}/x`)).toBe('again')
    const decided = await curl('--data', '{"key":"k","rule":"r"}', `${daemon.url}/v1/check`)
    expect(JSON.parse(decided)).toMatchObject({ allowed: true })
    expect(await curl(`${daemon.url}/metrics`)).toMatch(/sluice_egress_\w+\{[^}]*upstream="vendor"/)
    type Top = { replicas: number; upstreams: { name: string; grantsPerSecond: number }[] }
    await waitFor(
      async () => {
        const top = await runCli(['top', '--count', '1', '--json', '--url', daemon.url], { cwd: folder })
        const { replicas, upstreams } = top.json<Top>()
        return replicas === 2 && upstreams[0]?.name === 'vendor' && upstreams[0].grantsPerSecond > 0.15
      },
      { describe: 'top to show the grants of both processes' },
    )
    const top = await runCli(['top', '--count', '1', '--url', daemon.url], { cwd: folder })
    expect(top.out).toMatch(/vendor: [\d.]+ grants\/s, 0 waiting/)
    // Both follow the policy as it changes.
    writePolicy('limits: { rps: 100 }, maxWait: 2s', 'rules: [{ name: r, limits: { rpm: 6 } }]\n')
    await waitFor(() => daemon.out().includes('upstreams follow a new policy'))
    for (const { child, ended } of [daemon, other]) {
      child.kill('SIGTERM')
      expect(await ended).toBe(0)
    }
    await redis.stop()
  })

  it('warns when the policy has no upstreams', async () => {
    // Without a policy: the tests before this one leave their own in the folder.
    const empty = join(folder, 'empty')
    mkdirSync(empty)
    const daemon = await startDaemon(['--proxy-port', '0'], { cwd: empty })
    running.push(daemon.child)
    await waitFor(() => daemon.out().includes('The policy has no upstreams'))
    daemon.child.kill('SIGTERM')
    expect(await daemon.ended).toBe(0)
  })
})
