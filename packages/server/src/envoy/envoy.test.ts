import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as grpc from '@grpc/grpc-js'
import { loadSync } from '@grpc/proto-loader'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Daemon } from '../serve.ts'
import { startDaemon } from '../testing/started.ts'
import { importEnvoy } from './import-envoy.ts'

const config = `
domain: shop
descriptors:
  - key: database
    value: users
    rate_limit: { unit: day, requests_per_unit: 3 }
  - key: database
    rate_limit: { unit: hour, requests_per_unit: 1 }
  - key: free
    rate_limit: { unlimited: true }
  - key: watched
    shadow_mode: true
    rate_limit: { unit: day, requests_per_unit: 1 }
  - key: tenant
    value: acme
    descriptors:
      - key: path
        value: /login
        rate_limit: { unit: day, requests_per_unit: 2, name: login }
  - key: tenant
    rate_limit: { unit: day, requests_per_unit: 5 }
    descriptors:
      - key: path
        rate_limit: { unit: day, requests_per_unit: 4 }
  - key: tokens
    rate_limit: { unit: day, requests_per_unit: 100 }
  - key: watched tokens
    shadow_mode: yes
    rate_limit: { unit: day, requests_per_unit: 3 }
  - key: once
    value: 007
    rate_limit: &once { unit: day, requests_per_unit: 1 }
  - { key: once, value: 0x1F, rate_limit: *once }
  - { key: once, value: True, rate_limit: *once }
  - { key: once, value: +491234567, rate_limit: *once }
  - { key: once, value: "null", rate_limit: *once }
  - { key: once, value: ${'x'.repeat(151)}, rate_limit: *once }
  - { key: once, value: "sha256:abc", rate_limit: *once }
  - { key: file, value: /docs/*.pdf, share_threshold: true, rate_limit: *once }
  - { key: file, value: /docs/*, rate_limit: *once }
  - { key: called unlimited, rate_limit: { unit: day, requests_per_unit: 1, name: unlimited } }
  - { key: called unmatched, rate_limit: { unit: second, requests_per_unit: 0, name: unmatched } }
  - { key: called per-user, rate_limit: { unit: day, requests_per_unit: 1, name: per-user } }
`
const fileOf = (text: string) => ({ name: 'rl.yaml', text })

interface Status {
  readonly code: string
  readonly currentLimit: { readonly requestsPerUnit: number; readonly unit: string; readonly name: string } | null
  readonly limitRemaining: number
  readonly durationUntilReset: { readonly seconds: number } | null
}
interface Response {
  readonly overallCode: string
  readonly statuses: readonly Status[]
}
type Entries = Readonly<Record<string, string>>

const load = (includeDirs: string[]) =>
  grpc.loadPackageDefinition(
    loadSync('envoy/service/ratelimit/v3/rls.proto', { includeDirs, longs: Number, enums: String, defaults: true }),
  ) as never as { envoy: { service: { ratelimit: { v3: { RateLimitService: grpc.ServiceClientConstructor } } } } }

const xds = join(dirname(createRequire(import.meta.url).resolve('@grpc/grpc-js-xds/package.json')), 'deps')
/** The protos as another project ships them: an older copy, so without `hits_addend` of a descriptor. */
const theirs = load(['envoy-api', 'xds', 'googleapis', 'protoc-gen-validate'].map((name) => join(xds, name)))
const ours = load([fileURLToPath(new URL('./proto', import.meta.url))])

describe('the Envoy rate limit service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-envoy-'))
  let daemon: Daemon
  let client: grpc.Client
  let newer: grpc.Client

  beforeAll(async () => {
    const file = join(folder, 'sluice.yaml')
    writeFileSync(file, importEnvoy([fileOf(config)]).yaml)
    daemon = await startDaemon({ 'grpc-port': '0', policy: file })
    const { RateLimitService: Theirs } = theirs.envoy.service.ratelimit.v3
    const { RateLimitService: Ours } = ours.envoy.service.ratelimit.v3
    client = new Theirs(daemon.grpcUrl!, grpc.credentials.createInsecure())
    newer = new Ours(daemon.grpcUrl!, grpc.credentials.createInsecure())
  })
  afterAll(async () => {
    client.close()
    newer.close()
    await daemon.close()
    rmSync(folder, { recursive: true })
  })

  const call = (request: object, by: grpc.Client = client): Promise<Response> =>
    new Promise((resolve, reject) => {
      const { ShouldRateLimit } = by as never as Record<
        string,
        (request: object, done: (error: Error | null, answer: Response) => void) => void
      >
      ShouldRateLimit!.call(by, request, (error, answer) => (error ? reject(error) : resolve(answer)))
    })
  const entriesOf = (entries: Entries) => Object.entries(entries).map(([key, value]) => ({ key, value }))
  const ask = (entries: Entries, more: object = {}, by?: grpc.Client): Promise<Status> =>
    call({ domain: 'shop', descriptors: [{ entries: entriesOf(entries), ...more }] }, by).then(
      ({ statuses }) => statuses[0]!,
    )

  test('counts a value of its own and denies beyond the limit', async () => {
    const first = await ask({ database: 'users' })
    expect(first).toMatchObject({
      code: 'OK',
      currentLimit: { requestsPerUnit: 3, unit: 'DAY', name: '' },
      limitRemaining: 2,
    })
    expect(first.durationUntilReset!.seconds).toBeGreaterThanOrEqual(0)
    expect(first.durationUntilReset!.seconds).toBeLessThanOrEqual(86_400)
    await ask({ database: 'users' })
    expect(await ask({ database: 'users' })).toMatchObject({ code: 'OK', limitRemaining: 0 })
    expect(await ask({ database: 'users' })).toMatchObject({ code: 'OVER_LIMIT', limitRemaining: 0 })
  })

  test('a key without a value counts each value by itself', async () => {
    for (const value of ['a', 'b']) {
      expect(await ask({ database: value })).toMatchObject({
        code: 'OK',
        currentLimit: { requestsPerUnit: 1, unit: 'HOUR' },
      })
      expect(await ask({ database: value })).toMatchObject({ code: 'OVER_LIMIT' })
    }
  })

  test('an empty value is a value like any other', async () => {
    expect(await ask({ database: '' })).toMatchObject({ code: 'OK', currentLimit: { requestsPerUnit: 1 } })
    expect(await ask({ database: '' })).toMatchObject({ code: 'OVER_LIMIT' })
    expect(await ask({ database: '\0' }), 'what stands for it is another value').toMatchObject({ code: 'OK' })
    expect(await ask({ tenant: '', path: '/x' })).toMatchObject({ code: 'OK', currentLimit: { requestsPerUnit: 4 } })
    expect(await ask({ tenant: 't', path: '' })).toMatchObject({ code: 'OK', currentLimit: { requestsPerUnit: 4 } })
  })

  test('what nothing matches is OK without a limit', async () => {
    for (const entries of [{ nothing: 'x' }, { database: 'users', more: 'y' }]) {
      expect(await ask(entries)).toMatchObject({ code: 'OK', currentLimit: null, limitRemaining: 0 })
    }
    const other = await call({ domain: 'elsewhere', descriptors: [{ entries: entriesOf({ database: 'users' }) }] })
    expect(other).toMatchObject({ overallCode: 'OK', statuses: [{ code: 'OK', currentLimit: null }] })
  })

  test('unlimited says so, shadow mode counts but never denies', async () => {
    expect(await ask({ free: 'x' })).toMatchObject({ code: 'OK', currentLimit: null, limitRemaining: 2 ** 32 - 1 })
    expect(await ask({ watched: 'x' })).toMatchObject({
      code: 'OK',
      limitRemaining: 0,
      currentLimit: { requestsPerUnit: 1 },
    })
    expect(await ask({ watched: 'x' })).toMatchObject({ code: 'OK', limitRemaining: 0 })
  })

  test('shadow mode counts several hits beyond the limit, as Envoy does', async () => {
    const hits = (value: number) => ask({ 'watched tokens': 'x' }, { hitsAddend: { value } }, newer)
    expect(await hits(5)).toMatchObject({ code: 'OK', currentLimit: { requestsPerUnit: 3 }, limitRemaining: 0 })
    expect(await hits(1)).toMatchObject({ code: 'OK', limitRemaining: 0 })
  })

  test.each(['007', '0x1F', 'True', '+491234567', 'null', 'x'.repeat(151), 'sha256:abc'])(
    'a value is compared as it is written, also %s',
    async (once) => {
      expect(await ask({ once })).toMatchObject({ code: 'OK', currentLimit: { requestsPerUnit: 1 } })
      expect(await ask({ once })).toMatchObject({ code: 'OVER_LIMIT' })
    },
  )

  test('a pattern counts each value by itself, or all of them in one counter', async () => {
    for (const file of ['/docs/a', `/docs/${'b'.repeat(10_000)}`]) {
      expect(await ask({ file })).toMatchObject({ code: 'OK', limitRemaining: 0 })
      expect(await ask({ file })).toMatchObject({ code: 'OVER_LIMIT' })
    }
    expect(await ask({ file: '/docs/a.pdf' })).toMatchObject({ code: 'OK' })
    expect(await ask({ file: '/docs/b.pdf' })).toMatchObject({ code: 'OVER_LIMIT' })
    expect(await ask({ file: '/other' })).toMatchObject({ code: 'OK', currentLimit: null })
  })

  test('no name of a limit means anything but a name', async () => {
    for (const name of ['unlimited', 'per-user']) {
      const first = await ask({ [`called ${name}`]: 'x' })
      expect(first).toMatchObject({ code: 'OK', currentLimit: { requestsPerUnit: 1, name } })
      expect(await ask({ [`called ${name}`]: 'x' })).toMatchObject({ code: 'OVER_LIMIT' })
    }
    expect(await ask({ 'called unmatched': 'x' })).toMatchObject({ code: 'OVER_LIMIT' })
  })

  test('walks down nested descriptors and never turns back', async () => {
    expect(await ask({ tenant: 'acme', path: '/login' })).toMatchObject({
      currentLimit: { requestsPerUnit: 2, name: 'login' },
    })
    expect(await ask({ tenant: 'other', path: '/login' })).toMatchObject({ currentLimit: { requestsPerUnit: 4 } })
    expect(await ask({ tenant: 'other' })).toMatchObject({ currentLimit: { requestsPerUnit: 5 } })
    // tenant=acme was found, and there is nothing for it here: the limits for any tenant no longer count.
    expect(await ask({ tenant: 'acme' })).toMatchObject({ code: 'OK', currentLimit: null })
    expect(await ask({ tenant: 'acme', path: '/other' })).toMatchObject({ code: 'OK', currentLimit: null })
    // The order of entries counts.
    expect(await ask({ path: '/login', tenant: 'acme' })).toMatchObject({ code: 'OK', currentLimit: null })
  })

  test('a limit in the descriptor replaces that of the policy', async () => {
    const limit = { requestsPerUnit: 1, unit: 'DAY' }
    expect(await ask({ database: 'mine' }, { limit })).toMatchObject({
      code: 'OK',
      currentLimit: limit,
      limitRemaining: 0,
    })
    expect(await ask({ database: 'mine' }, { limit })).toMatchObject({ code: 'OVER_LIMIT' })
    expect(await ask({ database: 'mine' }, { limit: { requestsPerUnit: 2, unit: 'DAY' } })).toMatchObject({
      code: 'OK',
    })
    await expect(ask({ database: 'mine' }, { limit: { requestsPerUnit: 2, unit: 'UNKNOWN' } })).rejects.toMatchObject({
      code: grpc.status.INVALID_ARGUMENT,
    })
  })

  test('a domain that no rule is for has no limits, whatever a descriptor brings along', async () => {
    const limit = { requestsPerUnit: 0, unit: 'DAY' }
    const asked = (domain: string) => call({ domain, descriptors: [{ entries: entriesOf({ database: 'x' }), limit }] })
    expect(await asked('elsewhere')).toMatchObject({ overallCode: 'OK', statuses: [{ currentLimit: null }] })
    expect(await asked('shop')).toMatchObject({ overallCode: 'OVER_LIMIT' })
  })

  test('hits of the descriptor win over those of the request, and 0 only looks', async () => {
    const tokens = (hits: number | undefined, ofRequest = 0) =>
      call(
        {
          domain: 'shop',
          hitsAddend: ofRequest,
          descriptors: [
            { entries: entriesOf({ tokens: 'x' }), ...(hits === undefined ? {} : { hitsAddend: { value: hits } }) },
          ],
        },
        newer,
      ).then(({ statuses }) => statuses[0]!)
    expect(await tokens(0, 7)).toMatchObject({ code: 'OK', limitRemaining: 100 })
    expect(await tokens(undefined, 10)).toMatchObject({ code: 'OK', limitRemaining: 90 })
    expect(await tokens(30, 10)).toMatchObject({ code: 'OK', limitRemaining: 60 })
    expect(await tokens(undefined)).toMatchObject({ code: 'OK', limitRemaining: 59 })
    expect(await tokens(500)).toMatchObject({ code: 'OVER_LIMIT', limitRemaining: 0 })
    // As in Envoy's service, hits beyond the limit use it up.
    expect(await tokens(0)).toMatchObject({ code: 'OVER_LIMIT', limitRemaining: 0 })
  })

  test('more hits than any limit has are over it, not an error that a proxy lets pass', async () => {
    for (const value of ['10000000000001', '18446744073709551615']) {
      const descriptors = [{ entries: entriesOf({ tokens: `most ${value}` }), hitsAddend: { value } }]
      expect(await call({ domain: 'shop', descriptors }, newer)).toMatchObject({ overallCode: 'OVER_LIMIT' })
    }
  })

  test('a key that fills a whole message does not stop the daemon', async () => {
    const entries = Array.from({ length: 100_000 }, () => ({ key: 'a', value: 'b' }))
    expect(await call({ domain: 'shop', descriptors: [{ entries }] })).toMatchObject({ overallCode: 'OK' })
  })

  test('one status for each descriptor, and over the limit if one of them is', async () => {
    const limit = { requestsPerUnit: 0, unit: 'MINUTE' }
    const answer = await call({
      domain: 'shop',
      descriptors: [
        { entries: entriesOf({ free: 'x' }) },
        { entries: entriesOf({ any: 'x' }), limit },
        { entries: entriesOf({ nothing: 'x' }) },
      ],
    })
    expect(answer.overallCode).toBe('OVER_LIMIT')
    expect(answer.statuses.map(({ code }) => code)).toEqual(['OK', 'OVER_LIMIT', 'OK'])
  })

  test('no domain and no descriptors are errors', async () => {
    await expect(call({ domain: '', descriptors: [{ entries: [] }] })).rejects.toMatchObject({
      code: grpc.status.INVALID_ARGUMENT,
    })
    await expect(call({ domain: 'shop', descriptors: [] })).rejects.toMatchObject({
      code: grpc.status.INVALID_ARGUMENT,
    })
  })

  test('a changed policy is in force for descriptors without a restart', async () => {
    const changed = `domain: shop\ndescriptors: [{ key: fresh, rate_limit: { unit: minute, requests_per_unit: 7 } }]`
    writeFileSync(join(folder, 'sluice.yaml'), importEnvoy([fileOf(changed)]).yaml)
    await expect.poll(() => ask({ fresh: 'x' })).toMatchObject({ currentLimit: { requestsPerUnit: 7 } })
  })
})
