import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLimiter } from 'sluice'
import { daemonReports, partReport, startReports } from 'sluice/reports'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { buildCli, type CliDaemon, runInOne as run, runCli, startCli, startDaemon } from './testing/run-cli.ts'

const policy = `service: shop
rules:
  - { name: per-user, key: headers.x-user, limits: { rpd: 3 } } # A comment that stays.
upstreams:
  - { name: vendor, origin: 'https://api.example', limits: { rps: 25 } }
`
let folder: string
let daemon: CliDaemon
const file = (name: string): string => join(folder, name)
const sluice = (...args: string[]) => run(args, { cwd: folder })
const asked = (...args: string[]) => sluice(...args, '--url', daemon.url)
const check = (user: string) => {
  const body = JSON.stringify({ request: { path: '/', headers: { 'x-user': user } }, cost: 2 })
  return fetch(`${daemon.url}/v1/check`, { method: 'POST', body })
}

beforeAll(async () => {
  buildCli()
  folder = mkdtempSync(join(tmpdir(), 'sluice-daily-'))
  writeFileSync(file('shop.yaml'), policy)
  daemon = await startDaemon(['--policy', 'shop.yaml'], { cwd: folder })
  await Promise.all([check('ada'), check('ben')])
  await check('ada')
}, 180_000)

afterAll(async () => {
  daemon?.child.kill('SIGKILL')
  await daemon?.ended
  rmSync(folder, { recursive: true, force: true })
})

it('init writes a policy once, and says what enforces it', async () => {
  writeFileSync(file('package.json'), JSON.stringify({ name: '@acme/web', dependencies: { hono: '4' } }))
  const first = await sluice('init', 'policies/web.yaml')
  expect(first).toMatchObject({ code: 0, out: expect.stringContaining("from 'sluice/hono'") })
  expect(readFileSync(file('policies/web.yaml'), 'utf8')).toContain('service: web\n')
  expect((await sluice('init', 'policies/web.yaml')).code).toBe(2)
  expect(await sluice('init', 'hono')).toMatchObject({
    code: 2,
    err: expect.stringContaining('sluice init --for hono'),
  })
  expect(existsSync(file('sluice.yaml'))).toBe(false)
})

it('validate and diff read from a pipe, and list upstreams', async () => {
  const [named, piped] = await Promise.all([
    sluice('policy', 'validate', 'shop.yaml'),
    runCli(['policy', 'validate', '/dev/stdin', '--json'], { cwd: folder, input: policy }),
  ])
  expect(named.out).toMatch(/1 rule, 1 upstream[\s\S]*vendor \(upstream\)/)
  expect(piped.json()).toMatchObject({ valid: true, rules: ['per-user'], upstreams: ['vendor'] })
  const next = policy.replace('rps: 25', 'rps: 30')
  const differs = await run(['policy', 'diff', 'shop.yaml', '-', '--json'], { cwd: folder, input: next })
  expect(differs.json()).toMatchObject({ differences: [{ path: 'upstreams[vendor].limits.rps', after: 30 }] })
})

it('tail refuses a rule and a reason that do not exist, as it would wait for them without an end', async () => {
  const [rule, reason] = [await asked('tail', '--rule', 'per-usr'), await asked('tail', '--reason', 'qouta')]
  expect(rule).toMatchObject({ code: 2, err: expect.stringContaining('did you mean "per-user"?') })
  expect(reason).toMatchObject({ code: 2, err: expect.stringContaining('did you mean quota?') })
})

it('tail prints denials as they come, those that are wanted', async () => {
  expect((await asked('tail', '--count', '1')).out).toMatch(/shop\/per-user\/ada {2}rpd used up, cost 2, again in/)
  const child = startCli(['tail', '--key', 'ben', '--last', '0', '--count', '1', '--json', '--url', daemon.url])
  let out = ''
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk
  })
  const ended = once(child, 'close')
  // Both are denied, again and again until one of them was seen.
  let isOver = false
  void ended.then(() => {
    isOver = true
  })
  const again = async (): Promise<boolean> => {
    await Promise.all([check('ada'), check('ben')])
    return isOver
  }
  await expect.poll(again, { timeout: 25_000, interval: 100 }).toBe(true)
  expect(JSON.parse(out)).toMatchObject({ rule: 'per-user', key: 'shop/per-user/ben', reason: 'quota', replica: null })
})

it('tail goes on when its daemon is restarted, and prints no denial twice', async () => {
  const env = { SLUICE_ADMIN_TOKEN: 'admin-token-of-the-test' }
  const begin = (port: string) => startDaemon(['--policy', 'shop.yaml', '--port', port], { cwd: folder, env })
  const first = await begin('0')
  const limiter = await createLimiter({
    policy: { service: 'shop', rules: [{ name: 'per-user', limits: { rpd: 1 } }] },
  })
  const reports = startReports({
    service: 'shop',
    to: daemonReports(first.url, { token: env.SLUICE_ADMIN_TOKEN }),
    parts: [partReport('limiter', limiter)],
    every: 100,
  })
  limiter.stats()
  await limiter.take('before', { cost: 2 })
  const child = startCli(['tail', '--json', '--url', first.url], { env })
  let out = ''
  child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
    out += chunk
  })
  const ended = once(child, 'close')
  const keys = () => out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).key]))
  await expect.poll(keys, { timeout: 20_000 }).toEqual(['shop/per-user/before'])
  first.child.kill('SIGKILL')
  await first.ended
  const second = await begin(new URL(first.url).port)
  await limiter.take('after', { cost: 2 })
  await expect.poll(keys, { timeout: 20_000 }).toContain('shop/per-user/after')
  expect(keys()).toEqual(['shop/per-user/before', 'shop/per-user/after'])
  child.kill('SIGINT')
  expect(await ended).toEqual([0, null])
  await reports.close()
  await limiter.close()
  second.child.kill('SIGKILL')
  await second.ended
})

it('block takes a number of milliseconds, as every option, and names --for when it is wrong', async () => {
  const blocked = await asked('block', 'shop/per-user/eve', '--for', '5000')
  expect(blocked).toMatchObject({ code: 0, out: expect.stringContaining('blocked shop/per-user/eve for 5000ms') })
  expect((await asked('unblock', 'shop/per-user/eve')).out).toContain('unblocked')
  for (const wrong of ['0', '500d', 'soon'])
    expect(await asked('block', 'shop/per-user/eve', '--for', wrong)).toMatchObject({
      code: 2,
      err: expect.stringContaining(`--for is "${wrong}"`),
    })
})

it('history through a daemon says how many versions it can list', async () => {
  expect((await asked('policy', 'history', '--limit', '99')).code).toBe(0)
  expect(await asked('policy', 'history', '--limit', '100')).toMatchObject({
    code: 2,
    err: expect.stringMatching(/--limit is 100; a daemon lists 99 versions at most[\s\S]*--policy SOURCE/),
  })
})

it('policy try shows whom a policy would have denied, and changes nothing', async () => {
  writeFileSync(file('tight.yaml'), policy.replace('rpd: 3', 'rpd: 1'))
  // One after the other: a daemon replays for one at a time.
  const tight = await asked('policy', 'try', 'tight.yaml')
  const same = await asked('policy', 'try', 'shop.yaml')
  expect(tight).toMatchObject({ code: 1, out: expect.stringMatching(/shop\/per-user\/ben .*\+\d/) })
  expect(same).toMatchObject({ code: 0, out: expect.stringContaining('Nobody would notice') })
  expect(readFileSync(file('shop.yaml'), 'utf8')).toBe(policy)
})

it('policy override gives a key other limits for a while, through a daemon and at the source', async () => {
  const set = await asked('policy', 'override', 'shop/per-user/ada', '--rpd', '500', '--for', '1h', '--json')
  expect(set.json()).toMatchObject({ key: 'shop/per-user/ada', limits: { rpd: 500 }, revision: expect.any(Number) })
  const written = readFileSync(file('shop.yaml'), 'utf8')
  expect(written).toMatch(/overrides: \[\{ key: ada, limits: \{ rpd: 500 \}, until: .*# A comment that stays\./)
  const removed = await sluice('policy', 'override', 'ada', '--remove', '--policy', 'shop.yaml')
  expect(removed).toMatchObject({ code: 0, out: expect.stringContaining('without an override') })
  expect(readFileSync(file('shop.yaml'), 'utf8')).not.toContain('overrides')
  const wrong = await Promise.all([
    sluice('policy', 'override', 'ada', '--rpd', '5', '--policy', 'shop.yaml'),
    sluice('policy', 'override', 'ada', '--for', '1h', '--policy', 'shop.yaml'),
    sluice('policy', 'override', 'ada', '--remove', '--policy', 'shop.yaml'),
    sluice('policy', 'override', 'ada/en', '--rpd', '5', '--for', '1h', '--policy', 'shop.yaml'),
  ])
  expect(wrong.map(({ code }) => code)).toEqual([2, 2, 2, 1])
  expect(wrong[0]!.err).toContain('--for 1h')
})
