import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { Daemon } from '../serve.ts'
import { hold } from '../testing/held-to-description.ts'
import { adminToken, send, startDaemon } from '../testing/started.ts'

const policy = `# Kept by hand.
service: shop
rules:
  # One bucket for each tenant.
  - name: per-tenant
    key: headers.x-tenant
    limits: { rpd: 5 }
  - { name: per-user, limits: { rpd: 3 } }
  - { name: pair, key: [headers.x-tenant, ip], limits: { rpd: 100 }, mode: shadow }
`
const inAnHour = (): string => new Date(Date.now() + 3_600_000).toISOString()

let daemon: Daemon
let folder: string
let file: string

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'sluice-operating-'))
  file = join(folder, 'sluice.yaml')
  writeFileSync(file, policy)
  daemon = await startDaemon({ policy: file })
})
afterEach(async () => {
  await daemon.close()
  rmSync(folder, { recursive: true })
})

async function call(
  method: string,
  path: string,
  body?: unknown,
  headers?: Record<string, string>,
): Promise<{ status: number; headers: Headers; body: never }> {
  const answer = await send(daemon.url + path, method, body, headers)
  hold(method, path, body, answer)
  return answer
}

const tagNow = async (): Promise<string> => (await call('GET', '/v1/policy')).headers.get('etag')!
const check = (tenant: string): Promise<{ body: never }> =>
  call('POST', '/v1/check', { request: { path: '/', headers: { 'x-tenant': tenant }, ip: '192.0.2.1' } })

describe('a key', () => {
  test('is explained by every rule whose keys look like it', async () => {
    await check('acme')
    const { body } = await call('POST', '/v1/explain', { key: 'acme' })
    expect((body as { rules: object[] }).rules).toMatchObject([
      { rule: 'per-tenant', matched: true, key: 'shop/per-tenant/acme', limits: [{ remaining: 4, amount: 5 }] },
      { rule: 'per-user', matched: true, limits: [{ remaining: 3 }] },
      { rule: 'pair', mode: 'shadow', matched: false, why: 'its keys are made of headers.x-tenant + ip' },
    ])
    expect((await call('POST', '/v1/explain', { key: ['acme', '192.0.2.1'], rule: 'pair' })).body).toMatchObject({
      rules: [{ rule: 'pair', matched: true, limits: [{ remaining: 99 }] }],
    })
    expect((await call('POST', '/v1/explain', { key: 'acme', rule: 'nope' })).status).toBe(404)
  })

  test('is not said to pass where only requests tell its tier, until the tier is given', async () => {
    writeFileSync(
      file,
      `service: shop
tiers: { free: { rpd: 2 }, pro: { rpd: 10 } }
rules:
  - { name: by-plan, key: headers.x-tenant, tier: { by: context.user.plan, default: free } }
  - { name: all, limits: { rpd: 3 } }
`,
    )
    await expect.poll(async () => (await call('GET', '/v1/policy')).body).toMatchObject({ rules: ['by-plan', 'all'] })
    const request = { path: '/', headers: { 'x-tenant': 'acme' } }
    const asPro = { ...request, context: { user: { plan: 'pro' } } }
    for (let i = 0; i < 3; i++) await call('POST', '/v1/check', { request: asPro })
    const explained = async (body: object) => (await call('POST', '/v1/explain', body)).body
    expect(await explained({ key: 'acme' })).toMatchObject({
      rules: [{ rule: 'by-plan', matched: true, tierUnknown: true, limits: [] }, { tierUnknown: false }],
      decision: null,
    })
    expect(await explained({ key: 'acme', tier: 'pro' })).toMatchObject({
      rules: [{ tierUnknown: false, limits: [{ amount: 10, remaining: 7 }] }, {}],
      decision: { allowed: true },
    })
    expect(await explained({ key: 'acme', rule: 'by-plan', tier: 'free' })).toMatchObject({
      decision: { allowed: false, rule: 'by-plan' },
    })
    // What a rule denies whose limits are known is denied, whatever the tier is.
    await call('POST', '/v1/check', { key: 'acme', rule: 'all', cost: 3 })
    expect(await explained({ key: 'acme' })).toMatchObject({ decision: { allowed: false, rule: 'all' } })
    expect(await explained({ request })).toMatchObject({
      rules: [{ tier: null, tierUnknown: true, limits: [], why: expect.stringContaining('context.user.plan') }, {}],
      decision: null,
    })
    expect(await explained({ request: asPro })).toMatchObject({
      rules: [{ tier: 'pro', limits: [{ remaining: 7 }] }, {}],
      decision: { allowed: true },
    })
    expect(await explained({ request: { ...request, context: { user: { id: 7 } } } })).toMatchObject({
      rules: [{ tier: null, tierUnknown: true, limits: [] }, {}],
      decision: null,
    })
    expect(await explained({ request: { ...request, context: { user: { plan: 'none' } } } })).toMatchObject({
      rules: [{ tier: 'free', why: expect.stringContaining('context.user.plan names no tier of the rule') }, {}],
      decision: { allowed: false },
    })
    const wrong = expect.stringContaining('did you mean "pro"? known are free, ')
    for (const body of [
      { key: 'acme', tier: 'prp' },
      { key: 'acme', tier: 'prp', rule: 'by-plan' },
    ])
      expect(await call('POST', '/v1/explain', body)).toMatchObject({ status: 400, body: { detail: wrong } })
    const [unknown, none] = await Promise.all([
      call('GET', '/v1/keys/shop/by-plan/acme?tier=prp'),
      call('GET', '/v1/keys/shop/all/acme?tier=pro'),
    ])
    expect(unknown).toMatchObject({ status: 400, body: { detail: wrong } })
    expect(none).toMatchObject({ status: 400, body: { detail: expect.stringContaining('"all" has no tiers') } })
    expect((await call('GET', '/v1/keys/shop/by-plan/acme')).body).toMatchObject({ tierUnknown: true, limits: [] })
    expect((await call('GET', '/v1/keys/shop/by-plan/acme?tier=pro')).body).toMatchObject({
      tierUnknown: false,
      limits: [{ amount: 10, remaining: 7 }],
    })
  })

  test('counts for the class that is given, or that its request has, where classes share the limit', async () => {
    writeFileSync(
      file,
      `service: shop
rules:
  - name: shared
    key: headers.x-team
    limits: { amount: 10, per: day }
    shares: { by: context.class, of: { prod: 70%, dev: 30% }, default: dev }
`,
    )
    await expect.poll(async () => (await call('GET', '/v1/policy')).body).toMatchObject({ rules: ['shared'] })
    const of = (name: string, spent: number) => ({ share: expect.objectContaining({ class: name, spent }) })
    const prod = { key: 'red', class: 'prod' }
    expect((await call('POST', '/v1/check', prod)).body).toMatchObject({ limits: [{}, of('prod', 1)] })
    expect((await call('POST', '/v1/reserve', prod)).body).toMatchObject({ decision: { limits: [{}, of('prod', 2)] } })
    expect((await call('POST', '/v1/check', { checks: [prod, { key: 'red' }] })).body).toMatchObject({
      decisions: [{ limits: [{}, of('prod', 3)] }, { limits: [{}, of('dev', 1)] }],
    })
    const request = { headers: { 'x-team': 'red' }, context: { class: 'prod' } }
    expect((await call('POST', '/v1/check', { request })).body).toMatchObject({ limits: [{}, of('prod', 4)] })
    expect((await call('POST', '/v1/explain', prod)).body).toMatchObject({
      decision: { limits: [{}, of('prod', 4)] },
    })
    expect(await call('POST', '/v1/check', { request, class: 'prod' })).toMatchObject({
      status: 400,
      body: { detail: 'class cannot stand beside request, which rules are matched against.' },
    })
  })

  test('that no request can have is refused, with the parts that the rule has', async () => {
    const parts = { detail: expect.stringContaining('2 parts, headers.x-tenant, ip; 1 was given') }
    const alone = { key: 'acme', rule: 'pair' }
    for (const path of ['/v1/check', '/v1/explain', '/v1/reserve'])
      expect(await call('POST', path, alone)).toMatchObject({ status: 400, body: parts })
    for (const method of ['GET', 'DELETE'])
      expect(await call(method, '/v1/keys/shop/pair/acme')).toMatchObject({ status: 400, body: parts })
    expect((await call('POST', '/v1/check', { checks: [alone, { ...alone, key: ['acme', 'x'] }] })).body).toMatchObject(
      {
        decisions: [{ error: { status: 400, ...parts } }, { allowed: true }],
      },
    )
    // Callers give the keys of a rule without a key: any number of parts may be right.
    expect((await call('POST', '/v1/check', { key: ['a', 'b', 'c'], rule: 'per-user' })).status).toBe(200)
  })

  test('says when it would pass, by the rule that denies for longest', async () => {
    for (let i = 0; i < 6; i++) await check('acme')
    expect((await call('POST', '/v1/explain', { key: 'acme' })).body).toMatchObject({
      decision: { allowed: false, rule: 'per-tenant', retryAfterMs: expect.any(Number) },
    })
  })

  test('gets other limits until a given time, and the comments of the file stay', async () => {
    const path = '/v1/policy/overrides/shop/per-tenant/acme'
    const until = inAnHour()
    const override = { limits: { rpd: 50 }, until }
    expect((await call('PUT', path, override)).status).toBe(428)
    expect((await call('PUT', path, override, { 'if-match': '"other"' })).status).toBe(412)
    const set = await call('PUT', path, override, { 'if-match': await tagNow() })
    expect(set.body).toMatchObject({ pushed: true, until, changes: { changed: ['per-tenant'] } })
    const inspected = async (): Promise<unknown> => (await call('GET', '/v1/keys/shop/per-tenant/acme')).body
    await expect.poll(inspected).toMatchObject({ override, limits: [{ amount: 50 }] })
    expect(readFileSync(file, 'utf8')).toContain('# One bucket for each tenant.')
    // Replaced, not added a second time.
    await call('PUT', path, { limits: { rpd: 60 }, until }, { 'if-match': await tagNow() })
    await expect.poll(inspected).toMatchObject({ limits: [{ amount: 60 }] })
    expect(readFileSync(file, 'utf8').match(/key: acme/g)).toHaveLength(1)
    await call('DELETE', path, undefined, { 'if-match': await tagNow() })
    await expect.poll(inspected).toMatchObject({ override: null, limits: [{ amount: 5 }] })
    expect((await call('DELETE', path, undefined, { 'if-match': await tagNow() })).status).toBe(404)
  })

  test.each([
    [{ limits: { rpd: 50 } }, 400],
    [{ limits: { rpd: 50 }, until: '2020-01-01T00:00:00Z' }, 400],
    [{ limits: { rpd: 50 }, until: '2040-01-01' }, 400],
    [{ until: '2040-01-01T00:00:00Z' }, 400],
    [{ limits: { rpx: 50 }, until: '2040-01-01T00:00:00Z' }, 422],
  ])('an override such as %j is refused', async (body, status) => {
    const headers = { 'if-match': await tagNow() }
    const answer = await send(`${daemon.url}/v1/policy/overrides/shop/per-tenant/acme`, 'PUT', body, headers)
    expect(answer.status).toBe(status)
  })

  test('an override that no request could meet is refused', async () => {
    const override = { limits: { rpd: 50 }, until: inAnHour() }
    const headers = { 'if-match': await tagNow() }
    expect((await call('PUT', '/v1/policy/overrides/shop/pair/acme', override, headers)).status).toBe(422)
    expect((await call('PUT', '/v1/policy/overrides/shop/nope/acme', override, headers)).status).toBe(409)
    expect((await call('PUT', '/v1/policy/overrides/other/per-tenant/acme', override, headers)).status).toBe(404)
  })
})

describe('two people at once', () => {
  const next = (comment: string): string => `${policy}# ${comment}\n`

  test('the second is told, also before the first push is in force', async () => {
    const tag = await tagNow()
    const answers = await Promise.all(
      ['one', 'two', 'three'].map((who) => call('PUT', '/v1/policy', next(who), { 'if-match': tag })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412, 412])
    expect((await call('PUT', '/v1/policy', next('four'), { 'if-match': tag })).status).toBe(412)
    expect((await call('GET', '/v1/policy/versions')).body).toMatchObject({
      versions: [
        { revision: 2, changes: 0, summary: 'no change', who: { via: 'token' } },
        { revision: 1, changes: null, summary: 'the first that is kept', who: null },
      ],
    })
  })

  test('a change by hand counts as somebody else', async () => {
    const tag = await tagNow()
    writeFileSync(file, next('by hand'))
    await expect.poll(tagNow).not.toBe(tag)
    expect((await call('PUT', '/v1/policy', next('page'), { 'if-match': tag })).status).toBe(412)
    expect((await call('POST', '/v1/policy/rollback', {}, { 'if-match': tag })).status).not.toBe(200)
  })

  test('and so is the second of two at two daemons on one source', async () => {
    const other = await startDaemon({ policy: file })
    const tag = await tagNow()
    for (let round = 0; round < 5; round++) {
      const base = round === 0 ? tag : (await send(`${daemon.url}/v1/policy`, 'GET')).headers.get('etag')!
      await expect.poll(async () => (await send(`${other.url}/v1/policy`, 'GET')).headers.get('etag')).toBe(base)
      const answers = await Promise.all(
        [daemon, other].map(({ url }, i) =>
          send(`${url}/v1/policy`, 'PUT', next(`${round} ${i}`), { 'if-match': base }),
        ),
      )
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412])
      const pushed = answers.find(({ status }) => status === 200)!.headers.get('etag')
      await expect.poll(tagNow).toBe(pushed)
    }
    await other.close()
  })

  test('who pushed last can push again with the tag of the answer', async () => {
    const first = await call('PUT', '/v1/policy', next('one'), { 'if-match': await tagNow() })
    const tag = first.headers.get('etag')!
    await expect.poll(tagNow).toBe(tag)
    expect((await call('PUT', '/v1/policy', next('two'), { 'if-match': tag })).status).toBe(200)
  })
})

test('every change is in the audit log: who, what, before and after', async () => {
  await check('acme')
  await call('DELETE', '/v1/keys/shop/per-tenant/acme')
  await call('PUT', '/v1/policy', policy.replace('rpd: 5', 'rpd: 6'))
  const { entries } = (await call('GET', '/v1/audit')).body as { entries: object[] }
  expect(entries).toMatchObject([
    {
      id: 2,
      what: 'policy.push',
      after: { differences: [{ path: 'rules[per-tenant].limits.rpd', before: 5, after: 6 }] },
    },
    {
      id: 1,
      what: 'key.reset',
      target: 'shop/per-tenant/acme',
      who: { via: 'token', address: expect.stringMatching(/127\.0\.0\.1|::1/) },
      before: { used: { rpd: 1 }, holds: 0 },
      after: null,
    },
  ])
  expect(((await call('GET', '/v1/audit?limit=1')).body as { entries: object[] }).entries).toHaveLength(1)
  expect((await call('GET', '/v1/audit?limit=0')).status).toBe(400)
})

test('mistakes are told with their place in the text, and the schema is there for editors', async () => {
  const { status, body } = await call('POST', '/v1/policy/validate', policy.replace('rpd: 5', 'rpd: -5'))
  expect(status).toBe(422)
  expect(body).toMatchObject({
    issues: [{ path: 'rules[0].limits.rpd', value: -5, range: { line: 7, column: 20, endLine: 7, endColumn: 22 } }],
  })
  expect((await call('GET', '/v1/policy/schema')).body).toMatchObject({ title: 'Sluice policy' })
})

describe('trying a policy', () => {
  const trial = async (text: string): Promise<never> => (await call('POST', '/v1/policy/try', text)).body

  test('shows who would have been denied, beside what runs, and changes nothing', async () => {
    for (let i = 0; i < 4; i++) await check('acme')
    await check('globex')
    for (let i = 0; i < 4; i++) await call('POST', '/v1/check', { key: 'u1', rule: 'per-user' })
    const outcome = await trial(policy.replace('rpd: 5', 'rpd: 1'))
    expect(outcome).toMatchObject({
      requests: 9,
      deniedThen: 1,
      denied: { running: 1, tried: 4 },
      newlyDenied: 3,
      newlyAllowed: 0,
      subjects: [
        { key: 'shop/per-tenant/acme', requests: 4, denied: { running: 0, tried: 3 } },
        { key: 'shop/per-user/u1', requests: 4, denied: { running: 1, tried: 1 } },
      ],
      unknown: [],
    })
    expect((await call('GET', '/v1/keys/shop/per-tenant/acme')).body).toMatchObject({ limits: [{ remaining: 1 }] })
  })

  test('tells which fields were not kept, as the policy that runs does not look at them', async () => {
    await check('acme')
    const more = policy.replace('key: headers.x-tenant\n', 'key: [headers.x-tenant, body.language]\n')
    expect(await trial(more)).toMatchObject({ unknown: [{ rule: 'per-tenant', field: 'body.language', requests: 1 }] })
  })

  test('a policy with mistakes, or for another service, is refused', async () => {
    expect((await call('POST', '/v1/policy/try', 'service: shop')).status).toBe(422)
    expect((await call('POST', '/v1/policy/try', policy.replace('shop', 'other'))).status).toBe(409)
    expect((await call('POST', '/v1/policy/try', ' ')).status).toBe(400)
  })
})

test('says why a source cannot be written to', async () => {
  expect((await call('GET', '/v1/policy')).body).toMatchObject({ writable: true, readOnly: null, text: policy })
  if (process.getuid?.() === 0) return
  chmodSync(folder, 0o500)
  const { body } = await call('GET', '/v1/policy')
  chmodSync(folder, 0o700)
  expect(body).toMatchObject({ writable: false, readOnly: expect.stringContaining('may not write') })
})

test.each([
  ['PUT', '/v1/policy/overrides/shop/per-tenant/acme'],
  ['DELETE', '/v1/policy/overrides/shop/per-tenant/acme'],
  ['POST', '/v1/policy/try'],
  ['GET', '/v1/policy/schema'],
  ['GET', '/v1/audit'],
])('%s %s is for operators, and not for pages of other sites', async (method, path) => {
  const bare = await fetch(daemon.url + path, { method })
  expect(bare.status).toBe(401)
  const foreign = { authorization: `Bearer ${adminToken}`, origin: 'https://evil.example' }
  expect((await fetch(daemon.url + path, { method, headers: foreign })).status).toBe(403)
})
