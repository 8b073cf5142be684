import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../serve.ts'
import { adminToken, send, startDaemon } from '../testing/started.ts'
import { openApi } from './openapi/document.ts'

interface Operation {
  readonly security?: readonly Readonly<Record<string, unknown>>[]
}

/** Every operation that accepts the cookie of the page, as the description has them, so that none is forgotten. */
const withCookie = Object.entries(openApi.paths as unknown as Record<string, Record<string, Operation>>).flatMap(
  ([path, operations]) =>
    Object.entries(operations)
      .filter(([, { security = [] }]) => security.some((each) => 'session' in each))
      .map(([method]) => [
        method.toUpperCase(),
        path.replace(/\{key\}/, 'example/per-user/a').replace(/\{\w+\}/g, '1'),
      ]),
) as [string, string][]
const changing = withCookie.filter(([method]) => method !== 'GET')

describe('a page of another site', () => {
  let daemon: Daemon
  let cookie: string
  beforeAll(async () => {
    daemon = await startDaemon()
    const page = { authorization: '', 'x-sluice-page': '1' }
    const { headers } = await send(`${daemon.url}/v1/session`, 'POST', { secret: adminToken }, page)
    cookie = headers.get('set-cookie')!.split(';')[0]!
  })
  afterAll(() => daemon?.close())

  function status(method: string, path: string, headers: Record<string, string>): Promise<number> {
    return new Promise((resolve, reject) => {
      const sent = request(daemon.url + path, { method, headers: { cookie, ...headers } }, (response) => {
        resolve(response.statusCode!)
        response.destroy()
      })
      sent.once('error', reject).end()
    })
  }

  test.each(withCookie)('cannot use %s %s with the cookie of the reader', async (method, path) => {
    const { host } = new URL(daemon.url)
    const ours = { 'x-sluice-page': '1' }
    for (const foreign of [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: `http://evil.${host}` },
      { origin: `http://${host}.evil.example` },
      { 'sec-fetch-site': 'cross-site' },
      { 'sec-fetch-site': 'same-site' },
      { 'sec-fetch-site': 'none, cross-site' },
    ])
      expect(
        await status(method, path, { ...ours, ...foreign } as Record<string, string>),
        JSON.stringify(foreign),
      ).toBe(403)
  })

  test.each(changing)('%s %s needs the header of the page beside the cookie', async (method, path) => {
    expect(await status(method, path, {})).toBe(403)
    expect(await status(method, path, { 'sec-fetch-site': 'same-origin' })).toBe(403)
  })

  test('finds no operation that was left out', () => {
    expect(changing.length).toBeGreaterThan(7)
  })

  test.each(['/', '/openapi.json', '/v1/policy', '/v1/session', '/nowhere', '/assets/../../package.json'])(
    'cannot show or read %s inside itself',
    async (path) => {
      const { headers } = await send(daemon.url + path, 'GET')
      expect(headers.get('content-security-policy')).toMatch(/^default-src 'none'.*frame-ancestors 'none'/)
      expect(headers.get('content-security-policy')).not.toMatch(/unsafe|\*|data:|blob:/)
      expect(headers.get('x-content-type-options')).toBe('nosniff')
      expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
      expect(headers.get('access-control-allow-origin')).toBeNull()
      expect(headers.get('cache-control')).toMatch(/^no-(store|cache)$/)
    },
  )

  test.each(['/v1/check', '/v1/check?mirror'])('cannot show or read a decision of %s inside itself', async (path) => {
    const body = '{"key":"a","rule":"per-user"}'
    const { headers, status: answered } = await fetch(daemon.url + path, { method: 'POST', body })
    expect(answered).toBe(200)
    expect(headers.get('content-security-policy')).toBe("default-src 'none'; frame-ancestors 'none'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.get('cross-origin-resource-policy')).toBe('same-origin')
    expect(headers.get('cache-control')).toBe('no-store')
  })
})
