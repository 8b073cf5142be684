import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis, waitFor } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCli, runCli, runInOne, startCli, startDaemon } from '../testing/run-cli.ts'

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
    expect(daemon.err()).toMatch(/page http:\S+ {2}API http:\S+ {2}store memory {2}policy the built-in example/)
    daemon.child.kill('SIGTERM')
    expect(await daemon.ended).toBe(0)
    expect(daemon.out()).toContain('"msg":"ended"')
  })

  it('enforces sluice.yaml of its folder where no policy is named', async () => {
    const own = mkdtempSync(join(folder, 'own-'))
    writeFileSync(join(own, 'sluice.yaml'), 'service: api\nrules: [{ name: one, key: ip, limits: { rph: 1 } }]\n')
    const daemon = await startDaemon([], { cwd: own, env: { DATABASE_URL: 'postgres://127.0.0.1:1/none' } })
    expect(daemon.err()).toContain('policy file sluice.yaml')
    const ask = async () =>
      (await fetch(`${daemon.url}/v1/check`, { method: 'POST', body: '{"key":"alice","rule":"one"}' })).json()
    expect([await ask(), await ask()]).toMatchObject([{ allowed: true }, { allowed: false }])
    daemon.child.kill('SIGTERM')
    expect(await daemon.ended).toBe(0)
  })

  it('writes no code that signs in where a log would keep it', async () => {
    const daemon = await startDaemon([], { cwd: folder })
    daemon.child.kill('SIGTERM')
    await daemon.ended
    expect(daemon.err() + daemon.out()).not.toMatch(/code=|[A-Z2-9]{5}-[A-Z2-9]{5}/)
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
    expect((await runInOne(['serve', '--validate', '--json'])).json()).toMatchObject({
      valid: true,
      service: 'example',
      store: 'memory',
      warnings: [],
    })
    expect(await runInOne(['serve', '--validate', '--policy', 'bad.yaml'], { cwd: folder })).toMatchObject({
      code: 1,
      err: expect.stringContaining('rules[0].limits.rpm'),
    })
    expect((await runCli(['serve', '--validate', '--redis', 'redis://127.0.0.1:1'])).code).toBe(1)
  })

  it('says what would be right', async () => {
    expect(await runCli(['serve', '--port', 'http'])).toMatchObject({ code: 2, err: expect.stringContaining('65535') })
    expect(await runInOne(['serve', '--redis', 'localhost'])).toMatchObject({
      code: 2,
      err: expect.stringContaining('redis://'),
    })
    expect(await runInOne(['serve'], { env: { SLUICE_LOG_LEVEL: 'loud' } })).toMatchObject({
      code: 2,
      err: expect.stringContaining('SLUICE_LOG_LEVEL'),
    })
  })

  it('prints where it is as the first line with --json', async () => {
    const child = startCli(['serve', '--port', '0', '--json'], { cwd: folder })
    const [first] = (await once(child.stdout!.setEncoding('utf8'), 'data')) as [string]
    expect(JSON.parse(first.split('\n')[0]!)).toMatchObject({ url: expect.stringMatching(/^http:/), store: 'memory' })
    child.kill('SIGKILL')
  })

  it('reads tokens again at SIGHUP', async () => {
    writeFileSync(join(folder, 'admins'), 'ann token-of-ann\n')
    const daemon = await startDaemon(['--admin-token-file', 'admins'], { cwd: folder })
    await waitFor(() => daemon.out().includes('"msg":"listening"'), { describe: 'the log' })
    daemon.child.kill('SIGHUP')
    await waitFor(() => daemon.out().includes('"msg":"read again"'), { describe: 'a word about it' })
    expect((await fetch(`${daemon.url}/health`)).status).toBe(200)
    daemon.child.kill('SIGTERM')
    expect(await daemon.ended).toBe(0)
  })

  it('does not start with a wrong password, and says what it enforces while Redis is away', async () => {
    const redis = await startRedis()
    await redis.cli('CONFIG', 'SET', 'requirepass', 'hunter2hunter2')
    const wrong = redis.url.replace('redis://', 'redis://:not-it@')
    for (const url of [wrong, redis.url]) {
      const ran = await runCli(['serve', '--port', '0', '--redis', url])
      expect(ran).toMatchObject({ code: 4, err: expect.stringMatching(/WRONGPASS|NOAUTH/) })
      expect(ran.err).not.toContain('not-it')
    }
    await redis.stop()
    const away = 'redis://127.0.0.1:1'
    expect((await runCli(['serve', '--port', '0', '--redis', away, '--require-redis'])).code).toBe(3)
    const daemon = await startDaemon(['--redis', away], { cwd: folder })
    await waitFor(() => daemon.out().includes('Redis cannot be reached'), { describe: 'a warning at the start' })
    daemon.child.kill('SIGKILL')
    await daemon.ended
  })

  it('does not start on a database that Redis does not have, or that the user may not select', async () => {
    const redis = await startRedis()
    await redis.cli('ACL', 'SETUSER', 'bob', 'on', '>pw', '~*', '&*', '+@all', '-select')
    const policy = join(folder, 'upstreams.yaml')
    writeFileSync(policy, 'service: api\nupstreams: [{ name: v, origin: "http://127.0.0.1:1", limits: { rps: 1 } }]\n')
    const bob = redis.url.replace('redis://', 'redis://bob:pw@')
    for (const [url, message] of [
      [`${redis.url}/99`, 'DB index is out of range'],
      [`${bob}/1`, "no permissions to run the 'select' command"],
    ] as const) {
      for (const command of [['serve'], ['proxy', '--policy', policy], ['collect']]) {
        const ran = await runCli([...command, '--port', '0', '--redis', url], { cwd: folder })
        expect(ran, command[0]).toMatchObject({ code: 4, err: expect.stringContaining(message) })
      }
      const looked = await runCli(['doctor', '--redis', url])
      expect(looked).toMatchObject({ out: expect.stringContaining(message) })
      expect([1, 4]).toContain(looked.code)
    }
    expect(await redis.cli('DBSIZE')).toBe(0)
    await redis.stop()
  })

  it('says so when the example stands in for a policy that cannot be read', async () => {
    const env = { DATABASE_URL: 'postgres://127.0.0.1:1/app' }
    const daemon = await startDaemon([], { cwd: folder, env })
    expect(daemon.err()).toContain('policy the built-in example, as postgres')
    await waitFor(() => daemon.out().includes('The built-in example is in force'), { describe: 'a warning' })
    daemon.child.kill('SIGKILL')
    await daemon.ended
    const mysql = await startDaemon([], { cwd: folder, env: { DATABASE_URL: 'mysql://127.0.0.1/app' } })
    mysql.child.kill('SIGKILL')
    await mysql.ended
  })

  it.each([
    [
      { SLUICE_REDIS_URI: 'redis://h' },
      'SLUICE_REDIS_URI is "***"; there is no such variable; did you mean SLUICE_REDIS',
    ],
    [{ SLUICE_ADMIN_TOKN: 'secret-secret' }, 'did you mean SLUICE_ADMIN_TOKEN'],
  ])('refuses %j', async (env, message) => {
    const ran = await runInOne(['serve', '--port', '0'], { env })
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining(message) })
    expect(ran.err).not.toContain('secret-secret')
  })

  it.each([
    [['--host', '192.0.2.1'], 'is not an address of this machine'],
    [['--grpc-port', '0', '--grpc-host', '192.0.2.1'], '192.0.2.1'],
    [['--redis', 'redis://u:pa/ss@host'], 'percent-encode'],
    [['--redis', 'redis://pa/ss@host'], 'percent-encode'],
  ])('answers %j with what would be right, not with a stack', async (args, message) => {
    const ran = await (args.includes('--redis') ? runInOne : runCli)(['serve', '--port', '0', ...args])
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining(message) })
    expect(ran.err).not.toMatch(/\n +at /)
    expect(ran.err).not.toContain('pa/ss')
  })

  it('says that a port it was told to take is taken', async () => {
    const daemon = await startDaemon([], { cwd: folder })
    const { port } = new URL(daemon.url)
    for (const args of [
      ['--port', port],
      ['--port', '0', '--grpc-port', port],
    ])
      expect(await runCli(['serve', ...args])).toMatchObject({
        code: 2,
        err: expect.stringContaining(`port ${port}`),
      })
    // Off a terminal nobody would see that it moved to another port.
    expect((await runCli(['serve'], { env: { SLUICE_PORT: port } })).code).toBe(2)
    daemon.child.kill('SIGKILL')
    await daemon.ended
  })
})
