import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startRedis } from 'sluice/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { buildCli, type CliDaemon, runInOne as run, runCli, startCli, startDaemon } from './testing/run-cli.ts'

const policy = `service: shop
rules:
  - name: per-user
    limits: { rpm: 3 }
  - name: analyze
    match: { method: POST, path: /v1/analyze }
    key: body.tenant
    limits: { rpm: 2 }
  - name: pair
    match: { path: /pairs }
    key: [body.tenant, body.language]
    limits: { rpm: 2 }
`
let folder: string
let redis: Awaited<ReturnType<typeof startRedis>>
let daemon: CliDaemon
const file = (name: string): string => join(folder, name)
const sluice = (...args: string[]) => run(args, { cwd: folder })
const asked = (...args: string[]) => sluice(...args, '--url', daemon.url)
const direct = (...args: string[]) => sluice(...args, '--redis', redis.url, '--policy', 'shop.yaml')

beforeAll(async () => {
  buildCli()
  folder = mkdtempSync(join(tmpdir(), 'sluice-cli-'))
  writeFileSync(file('shop.yaml'), policy)
  writeFileSync(file('bad.yaml'), policy.replace('rpm: 3', 'rpm: -3').replace('match:', 'mach:'))
  redis = await startRedis()
  daemon = await startDaemon(['--policy', 'shop.yaml'], { cwd: folder })
}, 180_000)

afterAll(async () => {
  daemon?.child.kill('SIGKILL')
  await Promise.all([daemon?.ended, redis?.stop()])
  rmSync(folder, { recursive: true, force: true })
})

describe('the command line', () => {
  it('is no success when nobody reads what it found', async () => {
    const child = startCli(['policy', 'validate', 'bad.yaml'], { cwd: folder })
    child.stdout!.destroy()
    const [code] = (await once(child, 'exit')) as [number]
    expect([1, 141]).toContain(code)
  })

  it('prints help and the version, and says what would be right', async () => {
    expect(await sluice()).toMatchObject({ code: 0, out: expect.stringContaining('Exit codes') })
    expect((await sluice('--version')).out).toMatch(/^\d+\.\d+\.\d+\n$/)
    expect(await sluice('help', 'policy')).toMatchObject({ code: 0, out: expect.stringContaining('policy rollback') })
    expect(await sluice('serve', '--help')).toMatchObject({ code: 0, out: expect.stringContaining('--grpc-port') })
    expect(await sluice('chek')).toMatchObject({
      code: 2,
      out: '',
      err: expect.stringContaining('did you mean check?'),
    })
    expect(await sluice('policy', 'vaildate')).toMatchObject({
      code: 2,
      err: expect.stringContaining('did you mean validate?'),
    })
    expect((await sluice('check', '--json', '--ruel', 'x')).json()).toMatchObject({
      error: { code: 'wrong-use', exitCode: 2 },
    })
  })

  it('ends with 3 when nobody answers, and says what to do', async () => {
    const gone = await sluice('check', 'a', '--rule', 'per-user', '--url', 'http://127.0.0.1:1')
    expect(gone).toMatchObject({ code: 3, err: expect.stringContaining('sluice serve') })
    const away = await sluice(
      'check',
      'a',
      '--rule',
      'per-user',
      '--redis',
      'redis://:secret@127.0.0.1:1',
      '--policy',
      'shop.yaml',
    )
    expect(away.code).toBe(3)
    expect(away.err).not.toContain('secret')
  })

  it('colours only when asked to, off a terminal', async () => {
    expect((await asked('inspect', 'shop/per-user/colour')).out).not.toContain('\u001b')
    expect((await asked('inspect', 'shop/per-user/colour', '--color')).out).toContain('\u001b[')
    expect((await asked('inspect', 'shop/per-user/colour', '--color', '--json')).out).not.toContain('\u001b')
  })
})

describe.each([
  { way: 'through a daemon', on: (...args: string[]) => asked(...args) },
  { way: 'on the store itself', on: (...args: string[]) => direct(...args) },
])('keys, $way', ({ way, on }) => {
  const key = `shop/per-user/${way.length}`

  it('are checked until they are denied, inspected and reset', async () => {
    expect(await on('check', key, '--cost', '2')).toMatchObject({
      code: 0,
      out: expect.stringContaining('1 of 3 left'),
    })
    const denied = await on('check', `${way.length}`, '--rule', 'per-user', '--cost', '2', '--json')
    expect(denied.code).toBe(1)
    expect(denied.json()).toMatchObject({
      allowed: false,
      reason: 'quota',
      rule: 'per-user',
      limits: [{ name: 'rpm', remaining: 1 }],
    })
    expect(await on('check', key, '--cost', '4')).toMatchObject({
      code: 1,
      out: expect.stringContaining('it costs more than a limit ever allows'),
    })
    expect((await on('inspect', key, '--json')).json()).toMatchObject({
      key,
      rule: 'per-user',
      limits: [{ amount: 3, remaining: 1 }],
      holds: [],
    })
    expect((await on('reset', key, '--json')).json()).toEqual({ reset: true, key, stored: true })
    expect(await on('inspect', key)).toMatchObject({ code: 0, out: expect.stringContaining('3 of 3 left') })
  })

  it('are blocked for a while, until they are unblocked', async () => {
    const own = `${key}-blocked`
    expect((await on('block', own, '--for', '15m', '--json')).json()).toEqual({ blocked: true, key: own })
    expect((await on('check', own)).out).toContain('the key is blocked')
    expect((await on('inspect', own)).out).toContain('blocked')
    expect((await on('unblock', own, '--json')).json()).toEqual({ unblocked: true, key: own })
    expect((await on('unblock', own)).out).toContain('it was not blocked')
    expect((await on('check', own)).code).toBe(0)
    expect(await on('block', own)).toMatchObject({ code: 2 })
  })

  it('can be given as service and key', async () => {
    const parts = ['shop', 'tenant:nike:lang:ja']
    expect((await on('inspect', ...parts, '--rule', 'per-user', '--json')).json()).toMatchObject({
      key: 'shop/per-user/tenant:nike:lang:ja',
      limits: [{ amount: 3, remaining: 3 }],
    })
    expect(await on('inspect', 'other', 'tenant:nike', '--rule', 'per-user')).toMatchObject({ code: 2 })
  })

  it('that were never used are reset with a word about it', async () => {
    const unused = `${key}-unused`
    expect((await on('reset', unused, '--json')).json()).toEqual({ reset: true, key: unused, stored: false })
    expect(await on('reset', unused)).toMatchObject({ code: 0, out: expect.stringContaining('nothing was stored') })
  })

  it.each([
    ['two dots', '..'],
    ['a part that is shown as its hash', 'x'.repeat(300)],
  ])('are found and reset by the names they are shown under: %s', async (_, part) => {
    expect((await on('check', `shop/per-user/${part}`)).code).toBe(0)
    const inspection = (await on('inspect', `shop/per-user/${part}`, '--json')).json<{ key: string }>()
    expect(inspection).toMatchObject({ limits: [{ remaining: 2 }] })
    const { key: shown } = inspection
    expect((await on('reset', shown, '--json')).json()).toEqual({ reset: true, key: shown, stored: true })
  })

  it('that no request can have are refused', async () => {
    for (const command of ['check', 'inspect', 'reset'])
      expect(await on(command, 'acme', '--rule', 'pair')).toMatchObject({
        code: 2,
        err: expect.stringContaining('2 parts, body.tenant, body.language; 1 was given'),
      })
    expect((await on('inspect', 'acme/en', '--rule', 'pair')).code).toBe(0)
  })

  it('of another service or rule are refused', async () => {
    expect(await on('inspect', 'other/per-user/1')).toMatchObject({ code: 2, err: expect.stringContaining('"shop"') })
    expect(await on('reset', '1', '--rule', 'nope')).toMatchObject({
      code: 2,
      err: expect.stringContaining('per-user'),
    })
    expect((await on('check', 'other/per-user/1')).code).toBe(2)
  })

  it('are explained by the request they come from, without spending', async () => {
    const request = ['-X', 'post', '--path', '/v1/analyze?a=1', '-H', 'X-Key: k', '-d', `{"tenant":"${way.length}"}`]
    expect(await on('explain', ...request)).toMatchObject({
      code: 0,
      out: expect.stringMatching(/skipped +per-user[\s\S]*applies +analyze/),
    })
    const told = (await on('explain', ...request, '--json')).json<{ rules: unknown[]; decision: unknown }>()
    expect(told.rules).toMatchObject([
      { matched: false, key: null },
      { matched: true, key: `shop/analyze/${way.length}`, limits: [{ remaining: 2 }] },
      { matched: false, key: null },
    ])
    expect(told.decision).toMatchObject({ allowed: true })
    expect((await on('check', ...request)).code).toBe(0)
    expect((await on('check', ...request, '--cost', '1')).code).toBe(0)
    expect((await on('explain', ...request)).code).toBe(1)
  })
})

it('tells the limits of a tier only where it is given, through a daemon and on the store itself', async () => {
  const plans = `service: plans
tiers: { free: { rpm: 2 }, pro: { rpm: 10 } }
rules: [{ name: by-plan, key: headers.x-tenant, tier: { by: context.user.plan, default: free } }]
`
  writeFileSync(file('plans.yaml'), plans)
  const other = await startDaemon(['--policy', 'plans.yaml', '--redis', redis.url], { cwd: folder })
  const throughIt = ['--url', other.url]
  const itself = ['--redis', redis.url, '--policy', 'plans.yaml']
  const request = ['--path', '/', '-H', 'x-tenant: acme']
  for (let i = 0; i < 2; i++) await sluice('check', ...request, '--context', 'user.plan=pro', ...throughIt)
  const key = 'plans/by-plan/acme'
  const [shown, asPro, unknown, asFree, bothWays, ...mistyped] = await Promise.all([
    sluice('inspect', 'plans/by-plan/acme', ...throughIt),
    sluice('inspect', 'plans/by-plan/acme', '--tier', 'pro', '--json', ...throughIt),
    sluice('explain', ...request, '--json', ...throughIt),
    sluice('explain', ...request, '--context', 'user.plan=free', '--json', ...itself),
    sluice('explain', ...request, ...itself),
    ...[throughIt, itself].flatMap((where) => [
      sluice('inspect', key, '--tier', 'prp', ...where),
      sluice('check', key, '--tier', 'prp', ...where),
      sluice('check', ...request, '--tier', 'pro', ...where),
    ]),
  ])
  expect(mistyped.map(({ code }) => code)).toEqual(Array(6).fill(2))
  for (const i of [0, 1, 3, 4]) expect(mistyped[i]!.err).toContain('did you mean "pro"?')
  for (const i of [2, 5]) expect(mistyped[i]!.err).toContain('--context user.plan=pro')
  expect(shown).toMatchObject({ code: 0, out: expect.stringContaining('--tier') })
  expect(asPro.json()).toMatchObject({ tierUnknown: false, limits: [{ amount: 10, remaining: 8 }] })
  expect(unknown.code).toBe(1)
  expect(unknown.json()).toMatchObject({ decision: null })
  expect(asFree.json()).toMatchObject({ rules: [{ tier: 'free' }], decision: { allowed: false, rule: 'by-plan' } })
  expect(bothWays).toMatchObject({ code: 1, out: expect.stringContaining('Not known') })
  other.child.kill('SIGTERM')
  await other.ended
})

it('counts a key for the class that is given, through a daemon and on the store itself', async () => {
  const shares = `service: teams
rules:
  - name: shared
    key: headers.x-team
    limits: { amount: 10, per: day }
    shares: { by: context.class, of: { prod: 70%, dev: 30% }, default: dev }
`
  writeFileSync(file('shares.yaml'), shares)
  const other = await startDaemon(['--policy', 'shares.yaml', '--redis', redis.url], { cwd: folder })
  const itself = ['--redis', redis.url, '--policy', 'shares.yaml']
  const classOf = async (...args: string[]) => (await sluice('check', ...args, '--json')).json()
  const prod = (spent: number) => ({ limits: [{}, { share: { class: 'prod', spent } }] })
  expect(await classOf('teams/shared/red', '--class', 'prod', '--url', other.url)).toMatchObject(prod(1))
  expect(await classOf('teams/shared/red', '--class', 'prod', ...itself)).toMatchObject(prod(2))
  const request = ['--path', '/', '-H', 'x-team: red']
  expect(await classOf(...request, '--context', 'class=prod', '--url', other.url)).toMatchObject(prod(3))
  const both = await sluice('check', ...request, '--class', 'prod', ...itself)
  expect(both).toMatchObject({ code: 2, err: expect.stringContaining('--context class=prod') })
  other.child.kill('SIGTERM')
  await other.ended
})

describe('top', () => {
  it('prints a line, or an object, for each look', async () => {
    await asked('check', 'shop/per-user/hot')
    const lines = (await asked('top', '--count', '2', '--interval', '100ms', '--json')).out.trim().split('\n')
    expect(lines).toHaveLength(2)
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({
      service: 'shop',
      hottest: expect.arrayContaining([expect.objectContaining({ key: 'shop/per-user/hot' })]),
    })
    expect((await asked('top', '--count', '1', '--rule', 'per-user')).out).toContain('shop/per-user/')
  })

  it('has rates of keys from the first line on', async () => {
    let isOver = false
    const checks = (async () => {
      while (!isOver) await asked('check', 'shop/per-user/steady')
    })()
    // Beside the checks, so in a process of its own.
    const top = await runCli(['top', '--count', '1', '--json', '--url', daemon.url])
    const [line = ''] = top.out.split('\n')
    isOver = true
    await checks
    // Three pass, all others are denied.
    const { mostDenied } = JSON.parse(line) as { mostDenied: { key: string; perSecond: number }[] }
    expect(mostDenied.find(({ key }) => key === 'shop/per-user/steady')?.perSecond).toBeGreaterThan(0)
  })
})

describe('doctor', () => {
  it('finds a good Redis, policy and daemon well', async () => {
    const onRedis = await startDaemon(['--policy', 'shop.yaml', '--redis', redis.url], { cwd: folder })
    const all = ['--redis', redis.url, '--policy', 'shop.yaml', '--url', onRedis.url]
    const well = await sluice('doctor', ...all, '--accept-eviction', '--json')
    onRedis.child.kill('SIGKILL')
    await onRedis.ended
    const { ok, findings } = well.json<{ ok: boolean; findings: { about: string; level: string }[] }>()
    expect(findings.filter(({ level }) => level !== 'ok')).toEqual([])
    expect({ ok, code: well.code }).toEqual({ ok: true, code: 0 })
    expect(findings.map(({ about }) => about)).toEqual(
      expect.arrayContaining(['version', 'latency', 'clock', 'eviction', 'scripts', 'policy', 'daemon']),
    )
  })

  it('says what to mend', async () => {
    await redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    const ill = await sluice('doctor', '--redis', redis.url, '--policy', 'bad.yaml')
    await redis.cli('CONFIG', 'SET', 'maxmemory-policy', 'noeviction')
    expect(ill).toMatchObject({ code: 1, out: expect.stringMatching(/mend:.*noeviction[\s\S]*mend:.*policy validate/) })
    expect((await sluice('doctor', '--redis', 'redis://127.0.0.1:1')).code).toBe(3)
    expect(await sluice('doctor', '--redis', 'mysql://x')).toMatchObject({
      code: 2,
      err: expect.stringContaining('--redis is "mysql://x"'),
    })
  })

  it('sees that the daemon enforces another version, or counts elsewhere', async () => {
    writeFileSync(file('other.yaml'), 'service: shop\nrules: [{ name: per-user, limits: { rpm: 7 } }]\n')
    expect(await asked('doctor', '--policy', 'other.yaml')).toMatchObject({
      code: 1,
      out: expect.stringMatching(/it enforces version .*; the policy that was named is version/),
    })
    const inMemory = await startDaemon([], { cwd: folder })
    expect(await sluice('doctor', '--redis', redis.url, '--url', inMemory.url)).toMatchObject({
      code: 1,
      out: expect.stringContaining('it counts in memory, not in the Redis that was named'),
    })
    inMemory.child.kill('SIGKILL')
    await inMemory.ended
  })

  it('tries what the limiter will do: its keys, its credentials', async () => {
    await redis.cli('ACL', 'SETUSER', 'elsewhere', 'on', '>hunter2', '~other:*', '+@all', '-info')
    const url = redis.url.replace('redis://', 'redis://elsewhere:hunter2@')
    expect(await sluice('doctor', '--redis', url)).toMatchObject({
      code: 1,
      out: expect.stringMatching(/version, role and memory are not known[\s\S]*keys .*NOPERM/),
    })
    expect((await sluice('doctor', '--redis', url, '--redis-prefix', 'other:')).out).toContain('begin with other:')
    const wrong = await sluice('doctor', '--redis', url.replace('hunter2', 'hunter3'))
    expect(wrong).toMatchObject({ code: 4, out: expect.stringContaining('WRONGPASS') })
    await redis.cli('ACL', 'DELUSER', 'elsewhere')
  })
})

describe('while Redis is away', () => {
  it('inspect ends with 3, and nobody who may only decide learns where Redis is', async () => {
    const away = await startRedis()
    const cut = await startDaemon(['--policy', 'shop.yaml', '--redis', away.url], { cwd: folder })
    await away.stop()
    expect(await sluice('inspect', 'shop/per-user/1', '--url', cut.url)).toMatchObject({
      code: 3,
      err: expect.stringContaining('the store could not be asked'),
    })
    const settle = JSON.stringify({ key: 'k', rule: 'per-user', id: 'i', actual: 0 })
    const answer = await fetch(`${cut.url}/v1/settle`, { method: 'POST', body: settle })
    expect(answer.status).toBe(503)
    expect(await answer.text()).not.toMatch(/127\.0\.0\.1|ECONN/)
    cut.child.kill('SIGKILL')
    await cut.ended
  })
})

describe('the token', () => {
  it('comes from a file or the environment, and a wrong one ends with 4', async () => {
    writeFileSync(file('token'), 'correct-horse\n')
    const guarded = await startDaemon(['--admin-token-file', 'token'], { cwd: folder })
    try {
      const inspect = ['inspect', 'example/per-user/1', '--url', guarded.url]
      expect(await sluice(...inspect)).toMatchObject({ code: 4, err: expect.stringContaining('SLUICE_ADMIN_TOKEN') })
      expect((await runCli(inspect, { env: { SLUICE_ADMIN_TOKEN: 'wrong-horse' } })).code).toBe(4)
      expect((await runCli(inspect, { env: { SLUICE_ADMIN_TOKEN: 'correct-horse' } })).code).toBe(0)
      expect((await sluice(...inspect, '--token-file', 'token')).code).toBe(0)
      expect(await sluice(...inspect, '--token', 'correct-horse')).toMatchObject({
        code: 2,
        err: expect.stringContaining('--token-file'),
      })
    } finally {
      guarded.child.kill('SIGKILL')
      await guarded.ended
    }
  })

  it('is wanted by a daemon only: what answers otherwise is called out of reach', async () => {
    const other: Server = createServer((_, response) => response.end('<html>'))
    await once(other.listen(0, '127.0.0.1'), 'listening')
    const url = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
    expect(await sluice('top', '--count', '1', '--url', url)).toMatchObject({
      code: 3,
      err: expect.stringContaining('Sluice daemon'),
    })
    other.close()
  })
})

describe('a policy with a key that only code can find', () => {
  it('is checked, compared and pushed to a source, and validate says who can enforce it', async () => {
    writeFileSync(file('code.yaml'), policy.replace('key: body.tenant', 'key: fn:tenantOf'))
    const checked = await sluice('policy', 'validate', 'code.yaml')
    expect(checked).toMatchObject({
      code: 0,
      out: expect.stringContaining('createLimiter needs functions: { tenantOf }'),
    })
    expect(await sluice('policy', 'diff', 'shop.yaml', 'code.yaml')).toMatchObject({ code: 1, err: '' })
    const pushed = await sluice('policy', 'push', 'code.yaml', '--policy', `${redis.url}?key=code`)
    expect(pushed).toMatchObject({ code: 0, out: expect.stringContaining('pushed as revision') })
  })
})

describe('a mistake of an operator', () => {
  it('is told by collect as by serve: a port that is taken', async () => {
    const { port } = new URL(daemon.url)
    const ran = await sluice('collect', '--port', port, '--file', 'taken.ndjson')
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining(`port ${port} of 127.0.0.1 is taken`) })
  })

  it.each([
    ['ftp://warehouse.example/events', 'no URL; write https://host/path'],
    ['https://user:secret@warehouse.example/events', 'has a user or a password'],
  ])('is told by collect: it could never post to %s', async (url, message) => {
    const ran = await sluice('collect', '--port', '0', '--forward', url)
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining(message) })
  })

  it.each([['serve', '--validate'], ['proxy'], ['collect']])(
    'a variable that only looks right is refused by %s',
    async (...args) => {
      const ran = await runCli(args, { cwd: folder, env: { SLUICE_REDIS_URI: redis.url } })
      expect(ran).toMatchObject({ code: 2, err: expect.stringContaining('did you mean SLUICE_REDIS_URL?') })
    },
  )

  it('is refused by serve --validate: a variable that would leave another policy in force', async () => {
    const ran = await runCli(['serve', '--validate'], { cwd: folder, env: { SLUICE_POLCY: 'shop.yaml' } })
    expect(ran).toMatchObject({ code: 2, err: expect.stringContaining('did you mean SLUICE_POLICY?') })
  })

  it('is found by serve --validate: a variable that nothing reads, and that changes nothing', async () => {
    const ran = await runCli(['serve', '--validate'], { cwd: folder, env: { SLUICE_LOG_LEVLE: 'debug' } })
    expect(ran).toMatchObject({ code: 1, out: expect.stringContaining('There is no variable SLUICE_LOG_LEVLE') })
  })

  it('is shown without steering the terminal: the name of a variable that nothing reads', async () => {
    const ran = await runCli(['serve', '--validate'], { cwd: folder, env: { 'SLUICE_X\u001b[31m': '1' } })
    expect(ran.out).toContain('There is no variable SLUICE_X\\u001b[31m.')
  })

  it('lists what an import refuses, one problem a line, whatever files are called', async () => {
    writeFileSync(file('a.yaml'), 'domain: Shop\ndescriptors: [{ key: a, unit: 1 }]')
    writeFileSync(file('b\nFAKE.yaml'), 'domain: ""\ndescriptors: [{ key: a }]')
    const ran = await runCli(['policy', 'import', 'envoy', 'a.yaml', 'b\nFAKE.yaml'], { cwd: folder })
    const [first, ...problems] = ran.err.trimEnd().split('\n')
    expect({ code: ran.code, first }).toEqual({ code: 1, first: 'sluice: Envoy configuration refused:' })
    expect(problems).toEqual([
      expect.stringContaining('a.yaml: descriptors[0].unit'),
      expect.stringContaining('b\\nFAKE.yaml: domain'),
    ])
  })

  it('is no mistake: to ask a group of commands for its help', async () => {
    expect(await sluice('policy', '--help')).toMatchObject({
      code: 0,
      out: expect.stringContaining('sluice policy push FILE'),
    })
  })
})
