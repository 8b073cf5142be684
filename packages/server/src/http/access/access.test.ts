import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startNginx } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../../serve.ts'
import { startDaemon } from '../../testing/started.ts'
import { openApi } from '../openapi/document.ts'

/** Sends exactly these headers, also those that fetch would not. */
function status(
  url: string,
  headers: Readonly<Record<string, string>> = {},
  method = 'GET',
  body = '',
): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
    sent.once('error', reject)
    sent.end(body)
  })
}

interface Described {
  readonly security: readonly object[]
}
/** Every operation that the description calls protected, so that no list must be kept here. */
const adminRoutes = Object.entries(openApi.paths as Record<string, Record<string, Described>>).flatMap(
  ([path, operations]) =>
    Object.entries(operations)
      .filter(([, { security }]) => security.length > 0)
      .map(([method]) => [method.toUpperCase(), path.replace('{key}', 'example/per-user/a').replace(/\{\w+\}/g, '1')]),
) as [string, string][]
const readable = ['/v1/stats', '/v1/services', '/v1/policy', '/v1/keys/example/per-user/a', '/v1/overview', '/v1/rules']
const check = '{"key":"a","rule":"per-user"}'

describe('without a configured token', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-access-'))
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon({}, { SLUICE_ADMIN_TOKEN: '', XDG_RUNTIME_DIR: folder })
  })
  afterAll(async () => {
    await daemon.close()
    rmSync(folder, { recursive: true })
  })

  test.each(adminRoutes)('%s %s is refused, also on this machine and under its name', async (method, path) => {
    const { host } = new URL(daemon.url)
    for (const headers of [{}, { host: 'localhost' }, { host }])
      expect(await status(daemon.url + path, headers, method)).toBe(401)
  })

  test('finds the routes that need a token', () => expect(adminRoutes.length).toBeGreaterThan(20))

  test('a default nginx in front opens nothing but decisions', async () => {
    const nginx = await startNginx(`location / { proxy_pass ${daemon.url}; }`)
    for (const [method, path] of adminRoutes) expect(await status(nginx.url + path, {}, method)).toBe(401)
    expect(await status(`${nginx.url}/v1/check`, {}, 'POST', check)).toBe(200)
    await nginx.stop()
  })

  test('the generated token lies in a file that only this user can read, until the daemon ends', async () => {
    const file = daemon.tokenFile!
    expect(file.startsWith(folder)).toBe(true)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700)
    const token = readFileSync(file, 'utf8').trim()
    expect(token.length).toBeGreaterThanOrEqual(43)
    expect(await status(`${daemon.url}/v1/stats`, { authorization: `Bearer ${token}` })).toBe(200)
    const other = await startDaemon({}, { SLUICE_ADMIN_TOKEN: '', XDG_RUNTIME_DIR: folder })
    expect(other.adminToken).not.toBe(daemon.adminToken)
    await other.close()
    expect(existsSync(other.tokenFile!)).toBe(false)
    expect(existsSync(file)).toBe(true)
  })

  test.each([
    ['a folder that others can read', (path: string) => mkdirSync(path, { mode: 0o755 })],
    ['a link to a folder', (path: string) => symlinkSync(folder, path)],
  ])('never writes it to %s', async (_, make) => {
    const runtime = mkdtempSync(join(tmpdir(), 'sluice-runtime-'))
    make(join(runtime, 'sluice'))
    const other = await startDaemon({}, { SLUICE_ADMIN_TOKEN: '', XDG_RUNTIME_DIR: runtime })
    expect(other.tokenFile).toBeUndefined()
    await other.close()
    rmSync(runtime, { recursive: true })
  })

  test('decisions, health, metrics and the page are open', async () => {
    expect(await status(`${daemon.url}/v1/check`, {}, 'POST', check)).toBe(200)
    for (const path of ['/health', '/ready', '/metrics', '/', '/openapi.json'])
      expect(await status(daemon.url + path)).toBe(200)
  })
})

describe('with an admin token', () => {
  const token = 'correct-horse-battery'
  const authorization = `Bearer ${token}`
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon({}, { SLUICE_ADMIN_TOKEN: token })
  })
  afterAll(() => daemon.close())

  test.each(readable)('GET %s needs it, wherever one asks from', async (path) => {
    const method = 'GET'
    const url = daemon.url + path
    expect(await status(url, {}, method)).toBe(401)
    expect(await status(url, { authorization }, method)).toBe(200)
    expect(await status(url, { 'x-sluice-token': token }, method)).toBe(200)
    const proxied = { authorization, host: 'sluice.example', 'x-forwarded-for': '203.0.113.7' }
    expect(await status(url, proxied, method)).toBe(200)
  })

  test.each([
    'Bearer',
    'Bearer wrong',
    `Basic ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token} x`,
  ])('refuses %j', async (wrong) => {
    expect(await status(`${daemon.url}/v1/stats`, { authorization: wrong })).toBe(401)
  })

  test.each([
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }],
    ['a page of a neighbouring site', { 'sec-fetch-site': 'same-site' }],
    ['another origin', { origin: 'http://evil.example' }],
    ['a sandboxed page', { origin: 'null' }],
  ])('refuses %s even with it', async (_, headers) => {
    expect(await status(`${daemon.url}/v1/stats`, { authorization, ...headers })).toBe(403)
    expect(await status(`${daemon.url}/v1/check`, headers, 'POST', check)).toBe(403)
  })

  test('says what a proxy in front has to pass on, but not to a page that the browser calls foreign', async () => {
    const detail = async (headers: Record<string, string>) => {
      const response = await fetch(`${daemon.url}/v1/session`, { headers: { 'x-sluice-page': '1', ...headers } })
      return ((await response.json()) as { detail: string }).detail
    }
    const { host } = new URL(daemon.url)
    const other = { origin: 'http://sluice.example:8080' }
    expect(await detail(other)).toContain(`is at sluice.example:8080, and the request arrived for ${host}. A proxy`)
    expect(await detail({ origin: 'null' })).toBe('Pages of other sites may not use this API.')
  })

  test('a page of its own may ask', async () => {
    const { host } = new URL(daemon.url)
    const headers = { authorization, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' }
    expect(await status(`${daemon.url}/v1/stats`, headers)).toBe(200)
    expect(await status(`${daemon.url}/v1/check`, headers, 'POST', check)).toBe(200)
  })

  test('a page whose name was pointed at this machine cannot spend', async () => {
    const rebound = { host: 'evil.example:8440', origin: 'http://evil.example:8440' }
    for (const path of ['/v1/check', '/v1/reserve', '/v1/settle'])
      expect(await status(daemon.url + path, rebound, 'POST', check)).toBe(403)
    expect(await status(`${daemon.url}/v1/check`, { host: 'sluice.internal:8440' }, 'POST', check)).toBe(200)
  })

  test('decisions need none', async () => {
    expect(await status(`${daemon.url}/v1/check`, {}, 'POST', check)).toBe(200)
  })
})

test('with a decide token, decisions need it or the admin token', async () => {
  const daemon = await startDaemon({}, { SLUICE_DECIDE_TOKEN: 'may-decide', SLUICE_ADMIN_TOKEN: 'may-do-all' })
  const described = { 'x-original-method': 'GET', 'x-original-uri': '/' }
  for (const [path, method, body, headers] of [
    ['/v1/check', 'POST', check, {}],
    ['/v1/auth', 'GET', '', described],
  ] as const) {
    const ask = (more: Record<string, string>) => status(daemon.url + path, { ...headers, ...more }, method, body)
    expect(await ask({})).toBe(401)
    expect(await ask({ authorization: 'Bearer may-not' })).toBe(401)
    expect(await ask({ authorization: 'Bearer may-decide' })).toBe(200)
    expect(await ask({ authorization: "Bearer of-the-proxy's-client", 'x-sluice-token': 'may-decide' })).toBe(200)
    expect(await ask({ 'x-sluice-token': 'may-do-all' })).toBe(200)
  }
  expect(await status(`${daemon.url}/v1/stats`, { 'x-sluice-token': 'may-decide' })).toBe(401)
  await daemon.close()
})
