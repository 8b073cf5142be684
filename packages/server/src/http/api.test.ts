import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../serve.ts'
import { hold, paths, seen } from '../testing/held-to-description.ts'
import { send, startDaemon } from '../testing/started.ts'
import { openApi } from './openapi/document.ts'

const policy = `
service: example
rules:
  - { name: per-user, limits: { rpd: 3 } }
  - { name: slots, limits: { amount: 1, algorithm: concurrency } }
  - { name: big, limits: { rpd: 1000000 } }
  - { name: by-path, match: { path: "/limited/*" }, key: ip, limits: { rpd: 2 } }
  - { name: needs-key, match: { path: /keyed }, key: headers.x-api-key, onMissing: deny, limits: { rpd: 2 } }
`

describe('the HTTP API', () => {
  let daemon: Daemon

  const folder = mkdtempSync(join(tmpdir(), 'sluice-api-'))

  beforeAll(async () => {
    // Other files of tests may have run in this process before.
    seen.clear()
    const file = join(folder, 'sluice.yaml')
    writeFileSync(file, policy)
    daemon = await startDaemon({ policy: file })
  })
  afterAll(async () => {
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

  test('decides on a key, and denies with the time to wait', async () => {
    for (const remaining of [2, 1, 0]) {
      expect((await call('POST', '/v1/check', { key: 'u1', rule: 'per-user' })).body).toMatchObject({
        allowed: true,
        rule: 'per-user',
        limits: [{ remaining }],
      })
    }
    const denied = await call('POST', '/v1/check', { key: 'u1', rule: 'per-user' })
    expect(denied.status).toBe(200)
    expect(denied.body).toMatchObject({ allowed: false, reason: 'quota', retryAfterMs: expect.any(Number) })
  })

  test('keys of parts never meet keys that spell the same', async () => {
    await call('POST', '/v1/check', { key: ['p', 'q'], rule: 'per-user', cost: 3 })
    expect((await call('POST', '/v1/check', { key: 'p:q', rule: 'per-user', cost: 3 })).body).toMatchObject({
      allowed: true,
    })
    expect((await call('POST', '/v1/check', { key: [1], rule: 'per-user', cost: 3 })).body).toMatchObject({
      allowed: true,
    })
    expect((await call('POST', '/v1/check', { key: ['1'], rule: 'per-user', cost: 3 })).body).toMatchObject({
      allowed: true,
    })
  })

  test('a cost that can never pass waits for ever, which JSON says with null', async () => {
    const { body } = await call('POST', '/v1/check', { key: 'huge', rule: 'per-user', cost: 4 })
    expect(body).toMatchObject({ allowed: false, retryAfterMs: null })
  })

  test('decides on a request by the rules that match it', async () => {
    const request = { method: 'GET', path: '/limited/a?x=1', ip: '192.0.2.1' }
    expect((await call('POST', '/v1/check', { request })).body).toMatchObject({ allowed: true, rule: 'by-path' })
    expect((await call('POST', '/v1/check', { request: { path: '/elsewhere' } })).body).toMatchObject({
      allowed: true,
      rule: null,
      limits: [],
    })
    expect((await call('POST', '/v1/check', { request: { path: '/keyed' } })).body).toMatchObject({
      allowed: false,
      reason: 'missing-key',
    })
    expect(
      (await call('POST', '/v1/check', { request: { path: '/keyed', headers: { 'X-API-Key': 'k' } } })).body,
    ).toMatchObject({ allowed: true })
  })

  test('decides on many at once, each for itself', async () => {
    const checks = [
      { key: 'm', rule: 'per-user', cost: 3 },
      { key: 'm', rule: 'per-user' },
      { key: 'm', rule: 'nope' },
      { request: { path: '/' } },
    ]
    const { body } = await call('POST', '/v1/check', { checks })
    expect(body).toMatchObject({
      decisions: [{ allowed: true }, { allowed: false }, { error: { status: 404 } }, { allowed: true }],
    })
  })

  test('mirrors a decision as a response with headers', async () => {
    const check = { key: 'mirror', rule: 'per-user', cost: 3, mirror: true }
    const passed = await call('POST', '/v1/check', check)
    expect([passed.status, passed.headers.get('ratelimit-policy')]).toEqual([200, '"per-user/rpd";q=3;w=86400'])
    const denied = await call('POST', '/v1/check?mirror=true', { key: 'mirror', rule: 'per-user' })
    expect(denied.status).toBe(429)
    expect(Number(denied.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(denied.body).toMatchObject({ 'violated-policies': ['per-user/rpd'] })
    const missing = await call('POST', '/v1/check', { request: { path: '/keyed' }, mirror: true })
    expect(missing.status).toBe(400)
  })

  test('settles by the name of a rule', async () => {
    const subject = { key: 'by-rule', rule: 'per-user' }
    await call('POST', '/v1/reserve', { ...subject, cost: 3, id: 'named' })
    const wrong = await call('POST', '/v1/settle', { ...subject, id: 'named', actual: { 'per-user': 'one' } })
    expect([wrong.status, JSON.stringify(wrong.body)]).toEqual([400, expect.stringContaining('actual.per-user')])
    const settled = await call('POST', '/v1/settle', { ...subject, id: 'named', actual: { 'per-user': 1 } })
    expect(settled.body).toEqual({ settled: true })
    expect((await call('POST', '/v1/check', subject)).body).toMatchObject({ limits: [{ remaining: 1 }] })
  })

  test('holds units until they are settled', async () => {
    const hold = await call('POST', '/v1/reserve', { key: 'h', rule: 'per-user', cost: 3, ttl: '60s' })
    expect(hold.body).toMatchObject({ allowed: true, id: expect.any(String) })
    expect((await call('POST', '/v1/check', { key: 'h', rule: 'per-user' })).body).toMatchObject({ allowed: false })
    const { id } = hold.body as { id: string }
    expect((await call('POST', '/v1/settle', { key: 'h', rule: 'per-user', id, actual: 1 })).body).toEqual({
      settled: true,
    })
    expect((await call('POST', '/v1/settle', { key: 'h', rule: 'per-user', id, actual: 1 })).body).toEqual({
      settled: false,
    })
    expect((await call('POST', '/v1/check', { key: 'h', rule: 'per-user' })).body).toMatchObject({
      allowed: true,
      limits: [{ remaining: 1 }],
    })
  })

  test('a place in flight is acquired and settled, and a check only asks for a free one', async () => {
    const slot = { key: 's', rule: 'slots' }
    const { body } = await call('POST', '/v1/reserve', { ...slot, kind: 'acquire', id: 'one' })
    expect(body).toMatchObject({ allowed: true, id: 'one' })
    expect((await call('POST', '/v1/reserve', { ...slot, kind: 'acquire' })).body).toMatchObject({ allowed: false })
    const check = { ...slot, mirror: true }
    expect(await call('POST', '/v1/check', check)).toMatchObject({ status: 429, body: { decision: { rule: 'slots' } } })
    expect((await call('POST', '/v1/settle', { ...slot, id: 'one', actual: 1 })).body).toEqual({ settled: true })
    for (let i = 0; i < 3; i++) expect((await call('POST', '/v1/check', check)).status).toBe(200)
  })

  test('shows and forgets a key, whatever it is made of', async () => {
    const key = ['a/b %', 'ü']
    await call('POST', '/v1/check', { key, rule: 'per-user', cost: 3 })
    const stats = (await call('GET', '/v1/stats?top=200')).body as {
      rules: { rule: string; hottest: { key: string }[] }[]
    }
    const readable = stats.rules
      .find(({ rule }) => rule === 'per-user')!
      .hottest.map((hot) => hot.key)
      .find((text) => text.includes('002f'))!
    const path = `/v1/keys/${readable.split('/').map(encodeURIComponent).join('/')}`
    expect((await call('GET', path)).body).toMatchObject({
      key: readable,
      limits: [{ remaining: 0 }],
      explanation: expect.stringContaining('rpd has spent its 3'),
    })
    expect((await call('DELETE', path)).body).toEqual({ reset: true, key: readable, stored: true })
    expect((await call('DELETE', path)).body).toMatchObject({ stored: false })
    expect((await call('GET', path)).body).toMatchObject({
      limits: [{ remaining: 3 }],
      explanation: expect.stringContaining('3 of 3 left'),
    })
    expect((await call('GET', '/v1/keys/other/per-user/x')).status).toBe(404)
    expect((await call('PUT', '/v1/blocks/other/per-user/x', { for: '1m' })).status).toBe(404)
    expect((await call('PUT', '/v1/blocks/example/per-user/x', {})).status).toBe(400)
    const block = '/v1/blocks/example/per-user/x'
    expect((await call('PUT', block, { for: '15m' })).body).toEqual({ blocked: true, key: 'example/per-user/x' })
    expect((await call('GET', '/v1/keys/example/per-user/x')).body).toMatchObject({
      explanation: expect.stringMatching(/^It is blocked for another \d+ ms\.$/),
    })
    expect((await call('DELETE', block)).body).toEqual({ unblocked: true, key: 'example/per-user/x' })
    expect((await call('DELETE', block)).body).toMatchObject({ unblocked: false })
    expect((await call('PUT', '/v1/blocks/example/per-user/x', { for: 'soon' })).status).toBe(400)
    expect((await call('GET', '/v1/keys/example/nope/x')).status).toBe(404)
    expect((await call('GET', '/v1/keys/incomplete')).status).toBe(400)
  })

  test('explains without spending', async () => {
    const request = { path: '/limited/z', ip: '192.0.2.99' }
    for (let i = 0; i < 3; i++) {
      const { body } = await call('POST', '/v1/explain', { request })
      expect(body).toMatchObject({ decision: { allowed: true } })
      expect((body as { rules: { rule: string; matched: boolean }[] }).rules).toContainEqual(
        expect.objectContaining({ rule: 'by-path', matched: true, key: 'example/by-path/192.0.2.99' }),
      )
    }
  })

  test('counts the hottest and the most denied keys', async () => {
    for (let i = 0; i < 5; i++) await call('POST', '/v1/check', { key: 'hot', rule: 'per-user' })
    const { rules } = (await call('GET', '/v1/stats')).body as {
      rules: { rule: string; mostDenied: { key: string; count: number }[] }[]
    }
    expect(rules.find(({ rule }) => rule === 'per-user')!.mostDenied).toContainEqual({
      key: 'example/per-user/hot',
      count: 2,
      error: 0,
    })
    expect((await call('GET', '/v1/stats?top=-1')).status).toBe(400)
  })

  test('is healthy and ready, and shows metrics without keys', async () => {
    for (const path of ['/health', '/healthz']) expect((await call('GET', path)).body).toMatchObject({ status: 'ok' })
    for (const path of ['/ready', '/readyz', '/ready?strict=true'])
      expect((await call('GET', path)).body).toEqual({ ready: true, reasons: [], warnings: [] })
    const { body } = await call('GET', '/metrics')
    expect(body).toContain('sluice_decisions_total{service="example",rule="per-user",outcome="quota",degraded="false"}')
    expect(body).not.toContain('example/per-user/')
  })

  test('checks, pushes, lists and rolls back policies', async () => {
    const { document, version } = (await call('GET', '/v1/policy')).body as { document: string; version: string }
    const next = `${document}  - { name: added, limits: { rpd: 1 } }\n`
    const upstreams = { added: [], removed: [], changed: [] }
    const changes = { added: ['added'], removed: [], changed: [], tiers: false, upstreams }
    expect((await call('POST', '/v1/policy/validate', next)).body).toMatchObject({ valid: true, changes })
    for (const spelling of ['dryRun=true', 'dryRun=1', 'dryRun', 'dryRun=TRUE'])
      expect((await call('PUT', `/v1/policy?${spelling}`, next)).body).toMatchObject({ pushed: false, changes })
    for (const spelling of ['dry_run=true', 'dryrun=true', 'dryRun=yes', 'dryRun=true&dryRun=false', 'x=1']) {
      expect((await call('PUT', `/v1/policy?${spelling}`, next)).status, spelling).toBe(400)
      expect((await call('POST', `/v1/policy/rollback?${spelling}`, {})).status, spelling).toBe(400)
    }
    for (const body of [{ revison: 1 }, { dryrun: true }, { dryRun: true }])
      expect((await call('POST', '/v1/policy/rollback', body)).status).toBe(400)
    expect((await call('GET', '/v1/policy')).body).toMatchObject({ version })
    expect((await call('PUT', '/v1/policy', next, { 'if-match': '"other"' })).status).toBe(412)
    const pushed = await call('PUT', '/v1/policy', next, { 'if-match': `"${version}"` })
    // What was in the file before it was ever pushed is kept as the first version.
    expect(pushed.body).toMatchObject({ pushed: true, revision: 2 })
    const rule = async (): Promise<unknown> =>
      (await call('POST', '/v1/check', { key: 'x', rule: 'added' })).body as { rule?: unknown }
    await expect.poll(rule).toMatchObject({ rule: 'added' })
    const { versions } = (await call('GET', '/v1/policy/versions')).body as { versions: { revision: number }[] }
    expect(versions.map((each) => each.revision)).toEqual([2, 1])
    expect((await call('GET', '/v1/policy/versions/1')).body).toMatchObject({ revision: 1, document })
    expect((await call('GET', '/v1/policy/versions/999')).status).toBe(404)
    const dry = await call('POST', '/v1/policy/rollback?dryRun=true', {})
    expect(dry.body).toMatchObject({ changes: { removed: ['added'] } })
    expect((await call('POST', '/v1/policy/rollback', { revision: 1 })).body).toMatchObject({ rolledBackTo: 1 })
    // A rule that was in force and is no longer is not a mistake of whoever asks.
    await expect.poll(rule).toMatchObject({ allowed: true, rule: null })
  })

  test('a policy may have upstreams, with or without rules, but not neither', async () => {
    const { document } = (await call('GET', '/v1/policy')).body as { document: string }
    const more = `${document}upstreams: [{ name: vendor, origin: "https://api.vendor.example", limits: { rps: 25 } }]\n`
    expect((await call('POST', '/v1/policy/validate', more)).body).toMatchObject({
      upstreams: ['vendor'],
      changes: { added: [], upstreams: { added: ['vendor'], removed: [], changed: [] } },
    })
    const only =
      'service: example\nupstreams: [{ name: vendor, origin: "https://api.vendor.example", limits: { rps: 25 } }]\n'
    expect((await call('POST', '/v1/policy/validate', only)).body).toMatchObject({ rules: [], upstreams: ['vendor'] })
    expect((await call('POST', '/v1/policy/validate', 'service: example\n')).status).toBe(422)
  })

  test('refuses a policy whole and names every mistake', async () => {
    const { status, body } = await call(
      'PUT',
      '/v1/policy',
      { service: 'example', rules: [{ name: 'a', limits: { rpm: -1 } }, { name: 'a' }] },
      { 'content-type': 'application/json' },
    )
    expect(status).toBe(422)
    expect((body as { issues: { path: string }[] }).issues.map(({ path }) => path)).toContain('rules[0].limits.rpm')
    const other = 'service: other\nrules: [{ name: a, limits: { rpm: 1 } }]'
    for (const path of ['/v1/policy', '/v1/policy?dryRun=true'])
      expect((await call('PUT', path, other)).status).toBe(409)
    expect((await call('PUT', '/v1/policy', ' ')).status).toBe(400)
  })

  test('an unknown rule is not found, and so is an unknown route', async () => {
    expect((await call('POST', '/v1/check', { key: 'a', rule: 'nope' })).status).toBe(404)
    expect((await send(`${daemon.url}/v1/nothing`, 'GET')).status).toBe(404)
  })

  test('tells the page how the service and its rules stand', async () => {
    for (let i = 0; i < 5; i++) await send(`${daemon.url}/v1/check`, 'POST', { key: 'page', rule: 'per-user' })
    const overview = (await call('GET', '/v1/overview')).body as { refused: { keys: { key: string; limit: string }[] } }
    expect(overview.refused.keys).toContainEqual(
      expect.objectContaining({ key: 'example/per-user/page', rule: 'per-user', limit: expect.any(String) }),
    )
    const { rules } = (await call('GET', '/v1/rules')).body as { rules: { name: string; denied: number }[] }
    expect(rules.map(({ name }) => name)).toEqual(['per-user', 'slots', 'big', 'by-path', 'needs-key'])
    const rule = (await call('GET', '/v1/rules/per-user')).body as {
      denials: { key: string; limit: string }[]
      fullness: { bins: number[]; looked: number }
    }
    expect(rule.denials[0]).toMatchObject({ key: 'example/per-user/page', reason: 'quota' })
    expect(rule.fullness.bins.at(-1)).toBeGreaterThan(0)
    expect((await call('GET', '/v1/rules/none')).status).toBe(404)
  })

  test('serves its description and a page that runs no foreign script', async () => {
    expect((await send(`${daemon.url}/openapi.json`, 'GET')).body).toEqual(JSON.parse(JSON.stringify(openApi)))
    const page = await send(`${daemon.url}/`, 'GET')
    expect(page.headers.get('content-security-policy')).toContain("default-src 'none'; script-src 'self'")
    const assets = [...String(page.body).matchAll(/(?:src|href)="\.\/(assets\/[^"]+)"/g)].map(([, path]) => path!)
    expect(assets.length).toBeGreaterThan(1)
    for (const path of assets) {
      const asset = await send(`${daemon.url}/${path}`, 'GET')
      expect([asset.status, asset.headers.get('cache-control')]).toEqual([200, expect.stringContaining('immutable')])
    }
    expect((await send(`${daemon.url}/assets/..%2f..%2f..%2fpackage.json`, 'GET')).status).toBe(404)
  })

  test('takes the parameters of its description, and no others', async () => {
    expect((await call('GET', '/v1/stats?top=5')).status).toBe(200)
    for (const path of ['/v1/keys/example/per-user/a?teir=pro', '/v1/policy?x', '/v1/rules?x=1', '/ready?strikt=true'])
      expect([path, (await call('GET', path)).status]).toEqual([path, 400])
    // Whoever probes may have parameters of its own.
    expect((await send(`${daemon.url}/health?from=balancer`, 'GET')).status).toBe(200)
  })

  test('every route of the description was held to it', () => {
    const untried = Object.entries(paths)
      .flatMap(([path, operations]) => Object.keys(operations).map((method) => `${method.toUpperCase()} ${path}`))
      .filter((operation) => ![...seen].some((each) => each.startsWith(`${operation} `)))
    // These have tests of their own.
    expect(untried).toEqual([
      'GET /v1/auth',
      'POST /v1/auth',
      'GET /v1/policy/schema',
      'POST /v1/policy/try',
      'PUT /v1/policy/overrides/{key}',
      'DELETE /v1/policy/overrides/{key}',
      'GET /v1/audit',
      'GET /v1/services',
      'GET /v1/denials',
      'POST /v1/parts/{replica}/actions',
      'POST /v1/reports',
      'DELETE /v1/reports/{service}/{replica}',
      'GET /v1/session',
      'POST /v1/session',
      'DELETE /v1/session',
      'POST /v1/session/code',
      'GET /v1/live',
    ])
  })
})
