import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect as connectTls } from 'node:tls'
import { openRedis } from 'sluice/redis'
import { storeOf } from 'sluice/store'
import { startRedis, waitFor } from 'sluice/testing'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { configOptions } from './config/daemon-options.ts'
import { readOptions } from './config/read-options.ts'
import { followedOf, redisFrom } from './config/redis-from.ts'
import { tryRedis } from './config/try-redis.ts'
import { redisClient } from './connections/redis-client.ts'
import { send, startDaemon } from './testing/started.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-secrets-'))
const file = (name: string): string => join(folder, name)
const openssl = (...args: string[]) => spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' })
const hasOpenssl = openssl('version').error === undefined
const ends: (() => unknown)[] = []
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end()
})
afterAll(() => rmSync(folder, { recursive: true }))

const as = (token: string) => ({ authorization: `Bearer ${token}` })
const tokens = { ann: 'token-of-ann', bob: 'token-of-bob', eve: 'token-of-eve' }

async function start(flags: Record<string, string>, env: Record<string, string> = {}) {
  const daemon = await startDaemon(flags, env)
  ends.push(() => daemon.close())
  return daemon
}

describe('tokens with names', () => {
  test('tell who may look from who may change, and the audit log says who it was', async () => {
    writeFileSync(file('admins'), `# admins\nann ${tokens.ann}\n`)
    writeFileSync(file('readers'), `bob ${tokens.bob}\n`)
    const daemon = await start({ 'admin-token-file': file('admins'), 'read-token-file': file('readers') })
    const key = `${daemon.url}/v1/keys/example/per-user/1`
    for (const token of [tokens.ann, tokens.bob])
      expect((await send(`${daemon.url}/v1/stats`, 'GET', undefined, as(token))).status).toBe(200)
    expect(await send(key, 'DELETE', undefined, as(tokens.bob))).toMatchObject({
      status: 403,
      body: { detail: 'bob may look, and not change anything: this needs an admin token.' },
    })
    expect((await send(key, 'DELETE', undefined, as(tokens.eve))).status).toBe(401)
    expect((await send(key, 'DELETE', undefined, as(tokens.ann))).status).toBe(200)
    expect((await send(`${daemon.url}/v1/audit`, 'GET', undefined, as(tokens.bob))).status).toBe(403)
    const { body } = await send(`${daemon.url}/v1/audit`, 'GET', undefined, as(tokens.ann))
    expect((body as { entries: unknown[] }).entries).toMatchObject([
      { what: 'key.reset', who: { name: 'ann', via: 'token' } },
    ])
  })

  test('sign in to the page as the same person, until the token is taken away', async () => {
    writeFileSync(file('people'), `ann ${tokens.ann}\nbob ${tokens.bob}\n`)
    const daemon = await start({ 'admin-token-file': file('people') })
    const page = { 'x-sluice-page': '1', authorization: '' }
    const session = (cookie: string) => send(`${daemon.url}/v1/session`, 'GET', undefined, { ...page, cookie })
    const cookies = await Promise.all(
      [tokens.ann, tokens.bob].map(async (secret) => {
        const { headers, body } = await send(`${daemon.url}/v1/session`, 'POST', { secret }, page)
        expect(body).toMatchObject({ signedIn: true, role: 'admin' })
        return headers.get('set-cookie')!.split(';')[0]!
      }),
    )
    writeFileSync(file('people'), `ann ${tokens.ann}\nbob another-token-of-bob\n`)
    await waitFor(async () => !((await session(cookies[1]!)).body as { signedIn: boolean }).signedIn)
    expect((await session(cookies[0]!)).body).toMatchObject({ signedIn: true, name: 'ann' })
  })

  test('are read again when the file changes; a bad file changes nothing', async () => {
    writeFileSync(file('live'), `ann ${tokens.ann}\n`)
    const daemon = await start({ 'admin-token-file': file('live') })
    const status = async (token: string) => (await send(`${daemon.url}/v1/stats`, 'GET', undefined, as(token))).status
    expect(await status(tokens.ann)).toBe(200)
    writeFileSync(file('live'), `bob ${tokens.bob}\n`)
    await waitFor(async () => (await status(tokens.ann)) === 401)
    expect(await status(tokens.bob)).toBe(200)
    writeFileSync(file('live'), 'short\n')
    daemon.reload()
    expect(await status(tokens.bob)).toBe(200)
  })
})

describe('the listener of operators', () => {
  test('has the page, the admin routes and metrics, and the other one has none of them', async () => {
    const daemon = await start({ 'admin-port': '0' })
    const status = async (url: string, method = 'GET', body?: unknown) =>
      (await send(url, method, body, { authorization: `Bearer ${daemon.adminToken}` })).status
    const check = { key: '1', rule: 'per-user' }
    expect(daemon.adminUrl).not.toBe(daemon.url)
    for (const path of ['/', '/v1/stats', '/metrics', '/v1/policy']) {
      expect(await status(`${daemon.adminUrl}${path}`), path).toBe(200)
      expect(await status(`${daemon.url}${path}`), path).toBe(404)
    }
    expect(await status(`${daemon.url}/v1/check`, 'POST', check)).toBe(200)
    expect(await status(`${daemon.adminUrl}/v1/check`, 'POST', check)).toBe(404)
    for (const url of [daemon.url, daemon.adminUrl]) expect(await status(`${url}/ready`)).toBe(200)
  })

  test('gives metrics to whoever has a token for them, where there is one', async () => {
    const daemon = await start({}, { SLUICE_METRICS_TOKEN: tokens.eve, SLUICE_READ_TOKEN: tokens.bob })
    const status = async (headers: Record<string, string>) => (await fetch(`${daemon.url}/metrics`, { headers })).status
    expect(await status({})).toBe(401)
    expect(await status(as(tokens.eve))).toBe(200)
    expect(await status(as(tokens.bob))).toBe(200)
    expect((await send(`${daemon.url}/v1/stats`, 'GET', undefined, as(tokens.eve))).status).toBe(401)
  })
})

/** An authority, and a certificate by it that is good for localhost. */
function makeCertificates(): void {
  const run = (...args: string[]) => {
    const made = openssl(...args)
    if (made.status !== 0) throw new Error(made.stderr)
  }
  writeFileSync(file('names'), 'subjectAltName=DNS:localhost,IP:127.0.0.1\n')
  run(
    'req',
    '-x509',
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-keyout',
    'ca.key',
    '-out',
    'ca.crt',
    '-subj',
    '/CN=ca',
    '-days',
    '2',
  )
  for (const name of ['first', 'second']) {
    run(
      'req',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.csr`,
      '-subj',
      `/CN=${name}`,
    )
    run(
      'x509',
      '-req',
      '-in',
      `${name}.csr`,
      '-CA',
      'ca.crt',
      '-CAkey',
      'ca.key',
      '-CAcreateserial',
      '-out',
      `${name}.crt`,
      '-days',
      '2',
      '-extfile',
      'names',
    )
  }
}

describe.skipIf(!hasOpenssl)('certificates (needs openssl)', () => {
  beforeAll(makeCertificates)

  const use = (name: string): void => {
    copyFileSync(file(`${name}.crt`), file('tls.crt'))
    copyFileSync(file(`${name}.key`), file('tls.key'))
  }

  /** The name in the certificate that a listener shows to a new connection. */
  const shownBy = (port: number, protocol?: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const ca = readFileSync(file('ca.crt'))
      const socket = connectTls({ port, host: 'localhost', ca, ...(protocol && { ALPNProtocols: [protocol] }) }, () => {
        resolve(String(socket.getPeerCertificate().subject.CN))
        socket.destroy()
      })
      socket.once('error', reject)
    })

  test('are read again by HTTP, gRPC and the proxy when they change, and a bad one is refused', async () => {
    use('first')
    const daemon = await start({
      'tls-cert': file('tls.crt'),
      'tls-key': file('tls.key'),
      'grpc-port': '0',
      'proxy-port': '0',
    })
    const ports = [daemon.url, `https://${daemon.grpcUrl}`, daemon.proxyUrl!].map((url) => Number(new URL(url).port))
    const shown = () => Promise.all(ports.map((port, n) => shownBy(port, n === 1 ? 'h2' : undefined)))
    expect(await shown()).toEqual(['first', 'first', 'first'])
    use('second')
    await waitFor(async () => (await shown()).every((name) => name === 'second'))
    writeFileSync(file('tls.crt'), 'no certificate')
    daemon.reload()
    expect(await shown()).toEqual(['second', 'second', 'second'])
  })

  test('of a Redis with an authority of its own, which wants one from us; a new password counts at once', async ({
    skip,
  }) => {
    const args = ['--tls-port', '0', '--tls-cert-file', file('first.crt'), '--tls-key-file', file('first.key')]
    const redis = await startRedis({ args: [...args, '--tls-ca-cert-file', file('ca.crt'), '--requirepass', ''] })
    ends.push(() => redis.stop())
    const port = await freeTlsPort(redis)
    if (port === undefined) return skip('this Redis was built without TLS')
    writeFileSync(file('redis-url'), `rediss://shop:old-secret@localhost:${port}\n`)
    await redis.cli('ACL', 'SETUSER', 'shop', 'on', '>old-secret', '+@all', 'allkeys', 'allchannels')
    use('second')
    const flags = {
      'redis-file': file('redis-url'),
      'redis-ca': file('ca.crt'),
      'redis-cert': file('tls.crt'),
      'redis-key': file('tls.key'),
    }
    const options = (given: Record<string, string>) =>
      readOptions(configOptions, new Map(Object.entries(given).map(([name, value]) => [name, [value]])), {})
    const target = redisFrom(options(flags))!
    const client = redisClient(target)
    ends.push(() => client.disconnect())
    await tryRedis(client, 5000)
    const unknown = redisClient(redisFrom(options({ redis: `rediss://localhost:${port}` }))!)
    ends.push(() => unknown.disconnect())
    await expect(tryRedis(unknown, 5000)).rejects.toThrow(/certificate|issuer/i)
    const handle = openRedis(client, { reports: false })
    ends.push(() => handle.close())
    const store = storeOf(handle)
    ends.push(() => store.close())
    expect(await store.health!(2000)).toMatchObject({ reachable: true })
    await redis.cli('ACL', 'SETUSER', 'shop', 'resetpass', '>new-secret')
    writeFileSync(file('redis-url'), `rediss://shop:new-secret@localhost:${port}\n`)
    for (const each of followedOf(target)) each.reload()
    await redis.cli('CLIENT', 'KILL', 'USER', 'shop')
    await waitFor(async () => (await store.health!(2000)).reachable)
  })
})

/** Lets Redis listen with TLS on a free port; undefined where it was built without. */
async function freeTlsPort(redis: Awaited<ReturnType<typeof startRedis>>): Promise<number | undefined> {
  for (let port = redis.port + 1; port < redis.port + 50; port++) {
    const set = await redis.cli('CONFIG', 'SET', 'tls-port', String(port)).catch((error: Error) => error.message)
    if (set === 'OK') return port
    if (/unknown|unsupported/i.test(String(set))) return undefined
  }
  throw new Error('no free port')
}
