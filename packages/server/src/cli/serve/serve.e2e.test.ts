import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCli, runCli, startDaemon } from '../testing/run-cli.ts'

let folder: string

beforeAll(() => {
  buildCli()
  folder = mkdtempSync(join(tmpdir(), 'sluice-serve-'))
}, 180_000)
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('sluice serve', () => {
  it('works without any configuration, says where it is, and drains on SIGTERM', async () => {
    const daemon = await startDaemon([], { cwd: folder })
    const answer = await fetch(`${daemon.url}/v1/check`, { method: 'POST', body: '{"key":"user:1","rule":"per-user"}' })
    expect(await answer.json()).toMatchObject({ allowed: true })
    expect(daemon.err()).toMatch(/page http:\S+\/ {2}API http:\S+ {2}store memory {2}policy the built-in example/)
    daemon.child.kill('SIGTERM')
    expect(await daemon.ended).toBe(0)
    expect(daemon.out()).toContain('"msg":"ended"')
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('answers what it accepted before %s, and ends', async (signal) => {
    const daemon = await startDaemon([], { cwd: folder })
    const body = '{"key":"user:1","rule":"per-user"}'
    // Accepted, and only half sent: the rest comes after the signal.
    const half = request(`${daemon.url}/v1/check`, { method: 'POST', headers: { 'content-length': body.length } })
    half.write(body.slice(0, 10))
    await fetch(`${daemon.url}/health`)
    daemon.child.kill(signal)
    await waitFor(
      async () =>
        !(await fetch(`${daemon.url}/health`).then(
          ({ ok }) => ok,
          () => false,
        )),
      { describe: 'no new requests' },
    )
    half.end(body.slice(10))
    const [response] = (await once(half, 'response')) as [{ statusCode: number; resume(): void }]
    response.resume()
    expect(response.statusCode).toBe(200)
    expect(await daemon.ended).toBe(0)
  })

  it('ends at once on a second signal', async () => {
    const daemon = await startDaemon([], { cwd: folder })
    const half = request(`${daemon.url}/v1/check`, { method: 'POST', headers: { 'content-length': 100 } })
    half.on('error', () => {}).write('{')
    await fetch(`${daemon.url}/health`)
    daemon.child.kill('SIGTERM')
    await waitFor(
      async () =>
        !(await fetch(`${daemon.url}/health`).then(
          ({ ok }) => ok,
          () => false,
        )),
      { describe: 'no new requests' },
    )
    daemon.child.kill('SIGTERM')
    expect(await daemon.ended).toBe(130)
  })

  it('only checks with --validate', async () => {
    writeFileSync(join(folder, 'bad.yaml'), 'service: shop\nrules: [{ name: a, limits: { rpm: x } }]\n')
    expect(await runCli(['serve', '--validate'])).toMatchObject({
      code: 0,
      out: expect.stringContaining('built-in example'),
    })
    expect((await runCli(['serve', '--validate', '--json'])).json()).toMatchObject({
      valid: true,
      service: 'example',
      store: 'memory',
      warnings: [],
    })
    expect(await runCli(['serve', '--validate', '--policy', 'bad.yaml'], { cwd: folder })).toMatchObject({
      code: 1,
      err: expect.stringContaining('rules[0].limits.rpm'),
    })
    expect((await runCli(['serve', '--validate', '--redis', 'redis://127.0.0.1:1'])).code).toBe(1)
  })

  it('says what would be right', async () => {
    expect(await runCli(['serve', '--port', 'http'])).toMatchObject({ code: 2, err: expect.stringContaining('65535') })
    expect(await runCli(['serve', '--redis', 'localhost'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('redis://'),
    })
    expect(await runCli(['serve'], { env: { SLUICE_LOG_LEVEL: 'loud' } })).toMatchObject({
      code: 2,
      err: expect.stringContaining('SLUICE_LOG_LEVEL'),
    })
  })

  it('says that a port it was told to take is taken', async () => {
    const daemon = await startDaemon([], { cwd: folder })
    const { port } = new URL(daemon.url)
    expect(await runCli(['serve', '--port', port])).toMatchObject({
      code: 2,
      err: expect.stringContaining(`port ${port}`),
    })
    daemon.child.kill('SIGKILL')
    await daemon.ended
  })
})
