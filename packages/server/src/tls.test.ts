import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as grpc from '@grpc/grpc-js'
import { afterAll, describe, expect, test } from 'vitest'
import { buildCli, runCli } from './cli/testing/run-cli.ts'
import { resolveConfig } from './config/config.ts'
import { startDaemon } from './testing/started.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-tls-'))
const file = (name: string): string => join(folder, name)
const openssl = (...args: string[]) => spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' })

/** An authority that signs itself, good for localhost. */
function makeCertificate(name: string): void {
  const subject = ['-subj', `/CN=${name}`, '-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-days', '2']
  const made = openssl(
    'req',
    '-x509',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.crt`,
    ...subject,
  )
  if (made.status !== 0) throw new Error(made.stderr ?? String(made.error))
}
const hasOpenssl = openssl('version').error === undefined
if (hasOpenssl) for (const name of ['server', 'client', 'stranger']) makeCertificate(name)
afterAll(() => rmSync(folder, { recursive: true }))

function health(url: string, options: object): Promise<number | string> {
  return new Promise((resolve) => {
    const sent = request(`${url}/health`, { ...options, agent: false }, (response) => {
      response.resume()
      resolve(response.statusCode!)
    })
    sent.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    sent.end()
  })
}
const ca = (): { ca: Buffer } => ({ ca: readFileSync(file('server.crt')) })
const shown = (name: string) => ({ cert: readFileSync(file(`${name}.crt`)), key: readFileSync(file(`${name}.key`)) })
const ready = (client: grpc.Client) =>
  new Promise<boolean>((resolve) => client.waitForReady(Date.now() + 3000, (error) => resolve(error === undefined)))

describe.skipIf(!hasOpenssl)('TLS (needs openssl)', () => {
  const own = { 'tls-cert': file('server.crt'), 'tls-key': file('server.key') }

  test('commands say why they cannot talk to a daemon', async () => {
    buildCli()
    const [daemon, strict, plain] = await Promise.all([
      startDaemon(own),
      startDaemon({ ...own, 'tls-client-ca': file('client.crt') }),
      startDaemon(),
    ])
    const check = async (url: string, trusted?: string) => {
      const env = trusted === undefined ? {} : { NODE_EXTRA_CA_CERTS: file(trusted) }
      const { code, err } = await runCli(['check', 'example/per-user/42', '--url', url], { env })
      return `${code} ${err}`
    }
    const other = (url: string, scheme: string): string => url.replace(/^https?/, scheme)
    try {
      expect(await check(daemon.url)).toMatch(
        /^3 .*certificate of .* is not trusted: DEPTH_ZERO.*\n.*NODE_EXTRA_CA_CERTS/,
      )
      expect(await check(daemon.url, 'server.crt')).toBe('0 ')
      expect(await check(strict.url, 'server.crt')).toMatch(/^3 .*closed the connection\n.*--tls-client-ca/)
      expect(await check(other(daemon.url, 'http'))).toMatch(/^3 .*closed the connection\n.*https:\/\//)
      expect(await check(other(plain.url, 'https'))).toMatch(/^3 .*does not speak TLS\n.*http:\/\//)
    } finally {
      await Promise.all([daemon.close(), strict.close(), plain.close()])
    }
  }, 180_000)

  test('connections that wait to be accepted when the daemon ends are answered', async () => {
    const daemon = await startDaemon(own)
    const answers = Array.from({ length: 30 }, () => health(daemon.url, ca()))
    const closed = daemon.close()
    expect(new Set(await Promise.all(answers))).toEqual(new Set([200]))
    await closed
  })

  test('HTTP and gRPC speak it, and nothing else', async () => {
    const daemon = await startDaemon({ ...own, 'grpc-port': '0' })
    expect(daemon.url).toMatch(/^https:/)
    expect(await health(daemon.url, ca())).toBe(200)
    expect(await health(daemon.url, {}), 'of an unknown authority').toMatch(/SELF_SIGNED/)
    await expect(fetch(`${daemon.url.replace('https', 'http')}/health`)).rejects.toThrow()
    const client = new grpc.Client(daemon.grpcUrl!, grpc.credentials.createSsl(ca().ca))
    expect(await ready(client)).toBe(true)
    client.close()
    await daemon.close()
  })

  test('the health check of the container follows it, and either variable for the port', async () => {
    const plain = await startDaemon()
    const tls = await startDaemon(own)
    const script = fileURLToPath(new URL('../../../deploy/docker/healthcheck.mjs', import.meta.url))
    const check = async (env: Record<string, string>): Promise<number> => {
      const [code] = (await once(spawn(process.execPath, [script], { env }), 'exit')) as [number]
      return code
    }
    const [port, tlsPort] = [new URL(plain.url).port, new URL(tls.url).port]
    expect(await check({ SLUICE_PORT: port, PORT: tlsPort })).toBe(0)
    expect(await check({ PORT: port })).toBe(0)
    expect(await check({ SLUICE_PORT: tlsPort, SLUICE_TLS_CERT: own['tls-cert'] })).toBe(0)
    expect(await check({ SLUICE_PORT: tlsPort })).toBe(1)
    await Promise.all([plain.close(), tls.close()])
    expect(await check({ SLUICE_PORT: port })).toBe(1)
  })

  test('with an authority for clients, nobody else comes in', async () => {
    const daemon = await startDaemon({ ...own, 'tls-client-ca': file('client.crt'), 'grpc-port': '0' })
    expect(await health(daemon.url, { ...ca(), ...shown('client') })).toBe(200)
    expect(await health(daemon.url, ca())).not.toBe(200)
    expect(await health(daemon.url, { ...ca(), ...shown('stranger') })).not.toBe(200)
    const { cert, key } = shown('client')
    const client = new grpc.Client(daemon.grpcUrl!, grpc.credentials.createSsl(ca().ca, key, cert))
    expect(await ready(client)).toBe(true)
    client.close()
    await daemon.close()
  })

  test.each([
    [{ 'tls-cert': file('server.crt') }, 'give the private key too'],
    [{ 'tls-key': file('server.key') }, 'give the certificate too'],
    [{ 'tls-client-ca': file('client.crt') }, 'needs --tls-cert and --tls-key'],
    [{ 'tls-cert': file('nothing'), 'tls-key': file('server.key') }, 'give a file that can be read'],
    [{ 'tls-cert': file('server.crt'), 'tls-key': file('client.key') }, 'certificate and key cannot be used'],
  ])('refuses %j', (flags, message) => {
    expect(() => resolveConfig(flags, {})).toThrow(message)
  })
})
