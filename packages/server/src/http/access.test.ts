import { request } from 'node:http'
import { networkInterfaces } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../serve.ts'
import { startDaemon } from '../testing/started.ts'
import { isLoopback } from './access.ts'

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

const adminRoutes = ['/v1/stats', '/v1/policy', '/v1/policy/versions', '/v1/keys/example/per-user/a']

describe('without an admin token', () => {
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon({ host: '0.0.0.0' })
  })
  afterAll(() => daemon.close())

  test.each(adminRoutes)('%s answers on this machine', async (path) => {
    expect(await status(daemon.url + path)).toBe(200)
    expect(await status(daemon.url + path, { host: 'localhost:1234' })).toBe(200)
    expect(await status(daemon.url + path, { host: '[::1]' })).toBe(200)
  })

  test.each([
    ['a name that was pointed at this machine', { host: 'evil.example:8440' }],
    ['a name that begins like this machine', { host: '127.0.0.1.evil.example' }],
    ['a proxy on this machine', { 'x-forwarded-for': '203.0.113.7' }],
    ['a page of another site', { 'sec-fetch-site': 'cross-site' }],
    ['a page of a neighbouring site', { 'sec-fetch-site': 'same-site' }],
    ['another origin', { origin: 'http://evil.example' }],
    ['a sandboxed page', { origin: 'null' }],
  ])('refuses %s', async (_, headers) => {
    for (const path of adminRoutes) expect(await status(daemon.url + path, headers)).toBe(403)
  })

  test('a page of its own may ask', async () => {
    const { host } = new URL(daemon.url)
    expect(await status(`${daemon.url}/v1/stats`, { origin: `http://${host}`, 'sec-fetch-site': 'same-origin' })).toBe(
      200,
    )
  })

  test('pages of other sites cannot spend either', async () => {
    const check = '{"key":"a","rule":"per-user"}'
    expect(await status(`${daemon.url}/v1/check`, { origin: 'http://evil.example' }, 'POST', check)).toBe(403)
    expect(await status(`${daemon.url}/v1/check`, {}, 'POST', check)).toBe(200)
  })

  const outer = Object.values(networkInterfaces())
    .flat()
    .find((each) => each?.family === 'IPv4' && !each.internal)
  test.skipIf(outer === undefined)(
    'answers decisions to others, but no admin routes (needs a network interface)',
    async () => {
      const url = daemon.url.replace('127.0.0.1', outer!.address)
      for (const path of adminRoutes) expect(await status(url + path, { host: 'localhost' })).toBe(403)
      expect(await status(`${url}/v1/check`, {}, 'POST', '{"key":"a","rule":"per-user"}')).toBe(200)
      expect(await status(`${url}/health`)).toBe(200)
    },
  )
})

describe('with an admin token', () => {
  const token = 'correct-horse-battery'
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon({}, { SLUICE_ADMIN_TOKEN: token })
  })
  afterAll(() => daemon.close())

  test.each(adminRoutes)('%s needs it, wherever one asks from', async (path) => {
    expect(await status(daemon.url + path)).toBe(401)
    expect(await status(daemon.url + path, { authorization: `Bearer ${token}` })).toBe(200)
    expect(
      await status(daemon.url + path, {
        authorization: `Bearer ${token}`,
        host: 'sluice.example',
        'x-forwarded-for': '203.0.113.7',
      }),
    ).toBe(200)
  })

  test.each([
    'Bearer',
    'Bearer wrong',
    `Basic ${token}`,
    `Bearer ${token}x`,
    `Bearer ${token.slice(0, -1)}`,
    `Bearer ${token} x`,
  ])('refuses %j', async (authorization) => {
    expect(await status(`${daemon.url}/v1/stats`, { authorization })).toBe(401)
  })

  test('decisions need none', async () => {
    expect(await status(`${daemon.url}/v1/check`, {}, 'POST', '{"key":"a","rule":"per-user"}')).toBe(200)
  })
})

test.each([
  ['127.0.0.1', true],
  ['127.8.9.10', true],
  ['::1', true],
  ['::ffff:127.0.0.1', true],
  ['10.0.0.1', false],
  ['::ffff:10.0.0.1', false],
  ['127.0.0.1.example', false],
  ['', false],
  [undefined, false],
])('%s is this machine: %s', (address, expected) => {
  expect(isLoopback(address)).toBe(expected)
})
