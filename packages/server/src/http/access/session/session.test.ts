import { request } from 'node:http'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Person } from '../../../config/secrets/tokens.ts'
import type { Daemon } from '../../../serve.ts'
import { hold } from '../../../testing/held-to-description.ts'
import { adminToken, send, startDaemon } from '../../../testing/started.ts'
import { codeMs, OneTimeCodes } from './one-time-codes.ts'
import { maxStreams } from './session-streams.ts'
import { Sessions, sessionMs } from './sessions.ts'

const ann: Person = { name: 'ann', token: 'token', role: 'admin' }

describe('a one-time code', () => {
  test('works once, in any spelling a person may type', () => {
    const codes = new OneTimeCodes(() => 0)
    const code = codes.issue(ann)
    expect(code).toMatch(/^[A-HJ-NP-Z2-9]{5}-[A-HJ-NP-Z2-9]{5}$/)
    expect(codes.use(` ${code.toLowerCase().replace('-', ' ')} `)).toBe(ann)
    expect(codes.use(code)).toBeUndefined()
  })

  test('ends after a minute, and only a few are open at once', () => {
    let nowMs = 0
    const codes = new OneTimeCodes(() => nowMs)
    const [first, ...others] = Array.from({ length: 17 }, () => codes.issue(ann))
    expect(codes.use(first!)).toBeUndefined()
    expect(codes.use(others[0]!)).toBe(ann)
    nowMs = codeMs
    expect(codes.use(others[1]!)).toBeUndefined()
    expect(codes.use('')).toBeUndefined()
  })
})

describe('a session', () => {
  test('is accepted by every daemon with the token, until it ends or is ended', () => {
    let nowMs = 1.7e12
    const [one, other, foreign] = ['token', 'token', 'another'].map(
      (token) =>
        new Sessions(
          () => [{ ...ann, token }],
          () => nowMs,
        ),
    )
    const { value, session } = one!.begin(ann)
    expect(other!.find(value)).toEqual(session)
    expect(foreign!.find(value)).toBeUndefined()
    one!.end(session)
    expect(one!.find(value)).toBeUndefined()
    nowMs += sessionMs
    expect(other!.find(value)).toBeUndefined()
  })

  test.each([
    ['another end', (value: string) => value.replace(/\.\d+\./, '.9999999999999.')],
    [
      'another name',
      (value: string) => value.replace(/\.[^.]+\.([^.]+)$/, `.${Buffer.from('bob').toString('base64url')}.$1`),
    ],
    ['another signature', (value: string) => value.replace(/.$/, (last) => (last === 'A' ? 'E' : 'A'))],
    ['no signature', (value: string) => value.replace(/[^.]+$/, '')],
    ['nothing', () => ''],
  ])('with %s is none', (_, change) => {
    const sessions = new Sessions(
      () => [ann],
      () => 1.7e12,
    )
    expect(sessions.find(change(sessions.begin(ann).value))).toBeUndefined()
  })
})

describe('signing in', () => {
  let daemon: Daemon
  beforeAll(async () => {
    daemon = await startDaemon()
  })
  afterAll(() => daemon.close())
  const page = { authorization: '', 'x-sluice-page': '1' }
  const signIn = (secret: unknown, headers: Record<string, string> = {}) =>
    send(`${daemon.url}/v1/session`, 'POST', { secret }, { ...page, ...headers })
  const cookieOf = (headers: Headers): string => headers.get('set-cookie')!.split(';')[0]!

  test.each([
    ['x-forwarded-proto', 'https', true],
    ['x-forwarded-proto', 'http', false],
    ['forwarded', 'for=192.0.2.1;proto=https;host=a.test', true],
    ['forwarded', 'for=192.0.2.1;proto=http', false],
  ])('behind a proxy that says %s: %s the cookie is for TLS only: %s', async (name, value, isSecure) => {
    const answer = await send(
      `${daemon.url}/v1/session`,
      'POST',
      { secret: adminToken },
      { 'x-sluice-page': '1', [name]: value },
    )
    expect(answer.headers.get('set-cookie')?.includes('; Secure')).toBe(isSecure)
  })

  test('with a code or the token gives a cookie that scripts cannot read, and admin routes accept', async () => {
    for (const secret of [daemon.signInCode(), adminToken]) {
      const answer = await signIn(secret)
      hold('POST', '/v1/session', { secret }, answer)
      expect(answer.headers.get('set-cookie')).toMatch(/^sluice_session_\d+=[^;]+; Path=\/; HttpOnly; SameSite=Strict$/)
      expect(JSON.stringify(answer.body)).not.toContain(adminToken)
      const cookie = cookieOf(answer.headers)
      expect((await send(`${daemon.url}/v1/policy`, 'GET', undefined, { authorization: '', cookie })).status).toBe(401)
      expect(await raw('GET', '/v1/policy', { cookie })).toBe(200)
      const state = await send(`${daemon.url}/v1/session`, 'GET', undefined, { cookie })
      hold('GET', '/v1/session', undefined, state)
      expect(state.body).toMatchObject({ signedIn: true })
    }
  })

  test('with a used code is refused', async () => {
    const code = daemon.signInCode()
    expect((await signIn(code)).status).toBe(200)
    const again = await signIn(code)
    hold('POST', '/v1/session', { secret: code }, again)
    expect([again.status, again.headers.get('set-cookie')]).toEqual([401, null])
  })

  test('a session changes nothing without the header that only our page sends', async () => {
    const cookie = cookieOf((await signIn(adminToken)).headers)
    expect(await raw('DELETE', '/v1/keys/example/per-user/a', { cookie })).toBe(403)
    expect(await raw('DELETE', '/v1/keys/example/per-user/a', { cookie, 'x-sluice-page': '1' })).toBe(200)
    const { host } = new URL(daemon.url)
    for (const foreign of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }, { origin: 'null' }])
      expect(await raw('DELETE', '/v1/keys/example/per-user/a', { cookie, 'x-sluice-page': '1', ...foreign })).toBe(403)
    expect(await raw('POST', '/v1/session', { 'x-sluice-page': '1', origin: 'https://evil.example', host })).toBe(403)
    expect(await raw('POST', '/v1/session', {})).toBe(403)
  })

  test('ends with signing out', async () => {
    const cookie = cookieOf((await signIn(adminToken)).headers)
    const out = await send(`${daemon.url}/v1/session`, 'DELETE', undefined, { ...page, cookie })
    hold('DELETE', '/v1/session', undefined, out)
    expect(out.headers.get('set-cookie')).toContain('Max-Age=0')
    expect(await raw('GET', '/v1/policy', { cookie })).toBe(401)
  })

  test('codes are issued only to whoever has the token', async () => {
    expect(await raw('POST', '/v1/session/code', {})).toBe(401)
    const answer = await send(`${daemon.url}/v1/session/code`, 'POST')
    hold('POST', '/v1/session/code', undefined, answer)
    expect((await signIn((answer.body as { code: string }).code)).status).toBe(200)
  })

  test.each([['x'.repeat(1001)], [''], [7], [undefined]])('with %j is no attempt', async (secret) => {
    const answer = await signIn(secret)
    hold('POST', '/v1/session', undefined, answer)
    expect(answer.status).toBe(400)
  })

  test('a code that is used many times at once signs in once', async () => {
    const code = daemon.signInCode()
    const answers = await Promise.all(Array.from({ length: 8 }, () => signIn(code)))
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  })

  test('ends the streams of the session with it, and a session has only so many', async () => {
    const cookie = cookieOf((await signIn(adminToken)).headers)
    const streams = await Promise.all(Array.from({ length: maxStreams }, () => openStream({ cookie })))
    expect(streams.map(({ status }) => status)).toEqual(streams.map(() => 200))
    expect((await openStream({ cookie })).status).toBe(429)
    const other = await openStream({ cookie: cookieOf((await signIn(adminToken)).headers) })
    expect(other.status).toBe(200)
    streams[0]!.leave()
    await vi.waitFor(async () => expect((await openStream({ cookie })).status).toBe(200))
    await send(`${daemon.url}/v1/session`, 'DELETE', undefined, { ...page, cookie })
    await Promise.all(streams.slice(1).map(({ ended }) => ended))
    other.leave()
  })

  // Last: it uses up the attempts.
  test('cannot be guessed at: wrong ones are refused after ten a minute, and the right one always works', async () => {
    const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => signIn(`guess-${i}`)))
    expect(answers.filter(({ status }) => status === 401).length).toBeLessThanOrEqual(10)
    const refused = answers.find(({ status }) => status === 429)!
    hold('POST', '/v1/session', undefined, refused)
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(refused.headers.get('connection')).toBe('close')
    // Tokens in headers count together with those that are typed.
    expect(await raw('GET', '/v1/policy', { authorization: 'Bearer guess' })).toBe(429)
    expect(await raw('POST', '/v1/reports', { 'x-sluice-token': 'guess' })).toBe(429)
    expect(await raw('GET', '/v1/policy', {})).toBe(401)
    expect(await raw('GET', '/v1/policy', { authorization: `Bearer ${adminToken}` })).toBe(200)
    for (const secret of [adminToken, daemon.signInCode()]) expect((await signIn(secret)).status).toBe(200)
  })

  function openStream(headers: Record<string, string>) {
    return new Promise<{ status: number; leave: () => void; ended: Promise<void> }>((resolve, reject) => {
      const sent = request(`${daemon.url}/v1/live`, { headers }, (response) => {
        const ended = new Promise<void>((end) => response.once('close', end))
        response.resume()
        resolve({ status: response.statusCode!, leave: () => sent.destroy(), ended })
      })
      sent.once('error', reject).end()
    })
  }

  function raw(method: string, path: string, headers: Record<string, string>): Promise<number> {
    return new Promise((resolve, reject) => {
      const sent = request(daemon.url + path, { method, headers }, (response) => {
        response.resume()
        resolve(response.statusCode!)
      })
      sent.once('error', reject).end()
    })
  }
})
