import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCli, startCli } from '../testing/run-cli.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-proxy-tls-'))
const openssl = (...args: string[]) => spawnSync('openssl', args, { cwd: folder, encoding: 'utf8' })
const hasOpenssl = openssl('version').error === undefined
beforeAll(() => buildCli(), 180_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** Calls a vendor with a certificate for `names` through a proxy with these variables. */
async function statusThroughProxy(names: string, env: Record<string, string>): Promise<number> {
  const files = ['-keyout', 'key.pem', '-out', 'ca.pem', '-days', '2']
  const about = ['-subj', '/CN=vendor', '-addext', `subjectAltName=${names}`]
  const made = openssl('req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...about)
  if (made.status !== 0) throw new Error(made.stderr)
  const pair = { key: readFileSync(join(folder, 'key.pem')), cert: readFileSync(join(folder, 'ca.pem')) }
  const vendor = createServer(pair, (_, response) => void response.end('ok')).listen(0, '127.0.0.1')
  await once(vendor, 'listening')
  const { port } = vendor.address() as AddressInfo
  const upstream = `{ name: vendor, origin: "https://127.0.0.1:${port}", limits: { rps: 100 }, retry: false }`
  writeFileSync(join(folder, 'sluice.yaml'), `service: s\nupstreams: [${upstream}]\n`)
  const child = startCli(['proxy', '--port', '0'], { cwd: folder, env })
  try {
    let err = ''
    child.stdout!.resume()
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (err += text))
    const [, url = ''] = await waitFor(() => /proxy at (http:\S+) for vendor/.exec(err), { describe: 'the proxy' })
    return (await fetch(`${url}/x`)).status
  } finally {
    child.kill('SIGKILL')
    vendor.close()
    vendor.closeAllConnections()
  }
}

describe.skipIf(!hasOpenssl)('a vendor over TLS (needs openssl)', () => {
  it('is called when its authority is trusted, and never otherwise', async () => {
    const trusted = { NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') }
    expect(await statusThroughProxy('IP:127.0.0.1', trusted)).toBe(200)
    expect(await statusThroughProxy('IP:127.0.0.1', {})).toBe(502)
    // Trusted, but the certificate is for somebody else.
    expect(await statusThroughProxy('DNS:other.example', trusted)).toBe(502)
  })
})
