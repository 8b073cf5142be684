import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startMongod, startPostgres, startRedis } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCli, type CliDaemon, runInOne as run, startDaemon } from '../../testing/run-cli.ts'

const policy = `service: shop
rules:
  - name: per-user
    limits: { rpm: 3 }
  - name: analyze
    match: { path: /v1/analyze }
    key: body.tenant
    limits: { rpm: 2 }
`
let folder: string
let redis: Awaited<ReturnType<typeof startRedis>>
let postgres: Awaited<ReturnType<typeof startPostgres>>
let mongod: Awaited<ReturnType<typeof startMongod>>
let daemon: CliDaemon
const file = (name: string): string => join(folder, name)
const sluice = (...args: string[]) => run(args, { cwd: folder })
const asked = (...args: string[]) => sluice(...args, '--url', daemon.url)

beforeAll(async () => {
  buildCli()
  folder = mkdtempSync(join(tmpdir(), 'sluice-policy-'))
  writeFileSync(file('shop.yaml'), policy)
  writeFileSync(file('next.yaml'), policy.replace('rpm: 3', 'rpm: 9'))
  writeFileSync(file('bad.yaml'), policy.replace('rpm: 3', 'rpm: -3').replace('match:', 'mach:'))
  ;[redis, postgres, mongod] = await Promise.all([startRedis(), startPostgres(), startMongod()])
  daemon = await startDaemon(['--policy', 'shop.yaml'], { cwd: folder })
}, 180_000)

afterAll(async () => {
  daemon?.child.kill('SIGKILL')
  await Promise.all([daemon?.ended, redis?.stop(), postgres?.stop(), mongod?.available && mongod.stop()])
  rmSync(folder, { recursive: true, force: true })
})

describe('policies', () => {
  it('are validated, with every mistake in its place', async () => {
    expect(await sluice('policy', 'validate', 'shop.yaml')).toMatchObject({
      code: 0,
      out: expect.stringContaining('2 rules'),
    })
    const warned = `service: s
rules:
  - { name: r, key: ip, match: { method: FETCH }, limits: { rpm: 1 }, overrides: [{ key: office, limits: { rpm: 2 }, until: 2020-01-01 }] }
`
    const { code, out } = await run(['policy', 'validate', '-'], { input: warned })
    expect(code).toBe(0)
    for (const text of [
      /, 1 rule\n/,
      /the method FETCH/,
      /"office" has ended/,
      /for "office": requests have addresses/,
    ])
      expect(out).toMatch(text)
    const bad = await sluice('policy', 'validate', 'bad.yaml', '--json')
    expect(bad.code).toBe(1)
    const paths = bad.json<{ issues: { path: string }[] }>().issues.map(({ path }) => path)
    expect(paths).toEqual(expect.arrayContaining(['rules[0].limits.rpm', 'rules[1].mach']))
    expect((await run(['policy', 'validate', '-'], { input: policy })).code).toBe(0)
    const long = policy.replace('service: ', `service: ${'x'.repeat(300)}`)
    expect((await run(['policy', 'validate', '-'], { input: long })).out).toMatch(/service is "x{197}\.\.\."\n/)
    expect(await sluice('policy', 'validate', 'nope.yaml')).toMatchObject({
      code: 2,
      err: expect.stringContaining('nope.yaml'),
    })
  })

  it('are told apart', async () => {
    expect(await sluice('policy', 'diff', 'shop.yaml', 'next.yaml')).toMatchObject({
      code: 1,
      out: expect.stringContaining('rules[per-user].limits.rpm  3 → 9'),
    })
    expect((await sluice('policy', 'diff', 'shop.yaml', 'shop.yaml', '--json')).json()).toMatchObject({
      same: true,
      differences: [],
    })
  })

  it.for<[string, () => string | undefined]>([
    ['a file', () => 'live.yaml'],
    ['Redis', () => `${redis.url}?key=test:policy`],
    ['PostgreSQL', () => `${postgres.url}?service=shop`],
    ['MongoDB', () => (mongod.available ? `${mongod.url}&service=shop` : undefined)],
  ])('in %s are pushed, listed and rolled back', async ([, placeOf], { skip }) => {
    const place = placeOf() ?? skip('MongoDB is not to be had here')
    writeFileSync(file('live.yaml'), policy)
    const at = ['--policy', place]
    expect((await sluice('policy', 'push', 'shop.yaml', ...at)).code).toBe(0)
    expect((await sluice('policy', 'push', 'bad.yaml', ...at)).code).toBe(1)
    expect((await sluice('policy', 'push', 'next.yaml', ...at, '--dry-run', '--json')).json()).toMatchObject({
      pushed: false,
      revision: null,
    })
    expect((await sluice('policy', 'push', 'next.yaml', ...at, '--json')).json()).toMatchObject({
      pushed: true,
      differences: [{ before: 3, after: 9 }],
    })
    const back = await sluice('policy', 'rollback', ...at, '--json')
    expect(back.json()).toMatchObject({ pushed: true, differences: [{ before: 9, after: 3 }] })
    const { versions } = (await sluice('policy', 'history', ...at, '--json')).json<{
      versions: { revision: number; changes: number }[]
    }>()
    expect(versions.slice(0, 2).map(({ changes }) => changes)).toEqual([1, 1])
    expect(versions[0]?.revision).toBe(back.json().revision)
  })

  it.each([
    ['redis://:hidden@127.0.0.1:1', 3],
    ['postgres://user:hidden@127.0.0.1:1/db', 3],
    ['mongodb://127.0.0.1:1/db', 3],
    ['postgres://user:hidden@127.0.0.1:bad/db', 2],
    ['mongodb://user:hidden@', 2],
  ])('at %s end the command with code %i, without a stack and without the password', async (place, code) => {
    const ends = await Promise.all([
      sluice('policy', 'push', 'shop.yaml', '--policy', place),
      sluice('policy', 'history', '--policy', place),
      sluice('policy', 'validate', place),
    ])
    for (const ended of ends) {
      expect(ended.code).toBe(code)
      expect(ended.err).not.toMatch(/hidden|^ {4}at /m)
      expect(ended.out).toBe('')
    }
  })

  it('are pushed through a daemon and then in force', async () => {
    expect(await asked('policy', 'push', 'next.yaml')).toMatchObject({
      code: 0,
      out: expect.stringContaining('pushed as revision'),
    })
    await expect.poll(async () => (await asked('policy', 'diff', 'next.yaml')).code).toBe(0)
    expect((await asked('policy', 'diff', 'bad.yaml')).code).toBe(1)
    expect(await asked('policy', 'rollback')).toMatchObject({
      code: 0,
      out: expect.stringContaining('rolled back to revision'),
    })
    expect(
      (await asked('policy', 'history', '--json')).json<{ versions: unknown[] }>().versions.length,
    ).toBeGreaterThan(1)
    expect(readFileSync(file('shop.yaml'), 'utf8')).toBe(policy)
  })

  it('are made from Envoy configuration', async () => {
    writeFileSync(
      file('envoy.yaml'),
      'domain: web\ndescriptors:\n  - key: user\n    rate_limit: { unit: minute, requests_per_unit: 5 }\n',
    )
    expect((await sluice('policy', 'import', 'envoy', 'envoy.yaml', '-o', 'web.yaml')).code).toBe(0)
    expect((await sluice('policy', 'validate', 'web.yaml')).code).toBe(0)
    expect(await sluice('policy', 'import', 'envoy', 'envoy.yaml', '-o', 'web.yaml')).toMatchObject({ code: 2 })
    expect((await sluice('policy', 'import', 'envoy', 'envoy.yaml')).out).toBe(readFileSync(file('web.yaml'), 'utf8'))
    expect((await sluice('policy', 'import', 'envoy', 'shop.yaml')).code).toBe(1)
    writeFileSync(file('broken.yaml'), 'domain: [')
    expect(await sluice('policy', 'import', 'envoy', 'envoy.yaml', 'broken.yaml')).toMatchObject({
      code: 1,
      err: expect.stringContaining('broken.yaml: '),
    })
  })
})
