import assert from 'node:assert/strict'
import { StoreError } from '../core/errors.ts'
import type { ChargeOptions, GuardOptions } from '../http/guard-options.ts'
import { createLimiter } from '../limiter/create-limiter.ts'
import type { Limiter } from '../limiter/limiter.ts'
import type { PolicyDocument, RuleSpec } from '../policy/document.ts'
import type { Store } from '../stores/store.ts'
import { exchange, type HttpAnswer, type HttpAsk } from './http-exchange.ts'
import { waitFor } from './wait-for.ts'

/** The slice of a test framework that the suite needs; `vitest` and `node:test` both have it. */
export interface HttpTestFramework {
  describe(name: string, body: () => void): unknown
  it(name: string, body: () => Promise<void>): unknown
}

/** What the suite asks of an app, in words every adapter understands. */
export interface HttpAppOptions extends GuardOptions<unknown, unknown> {
  /** False: no parser of bodies before the limiter. */
  readonly parsesBody?: boolean
}

/**
 * Starts a real app with the adapter in front, on a free port of 127.0.0.1. It serves, behind the adapter with `options`:
 *
 * - `GET /hello`, `GET /healthz`: the text `hello`
 * - `POST /echo`: the parsed JSON body as JSON
 * - `GET /decision`: the decision the handler was given, as JSON
 * - `GET /status/401`: an empty answer with status 401
 * - `GET /bytes`: 1000 bytes
 * - `GET /hang`: nothing, ever
 * - `GET /own`: the text `hello`, charged as `own` says
 */
export type StartHttpApp = (
  limiter: Limiter,
  options: HttpAppOptions,
  own: ChargeOptions<unknown>,
) => Promise<{ readonly port: number; close(): Promise<void> }>

const minute = (amount: number, rest: Partial<RuleSpec> = {}): RuleSpec => ({
  ...{ name: 'api', key: 'ip', limits: { name: 'rpm', amount, per: '1m', algorithm: 'fixed-window' } },
  ...rest,
})
const own: ChargeOptions<unknown> = { rule: 'own', key: (_, { headers }) => `user:${headers['x-user']}` }
const ownRule: RuleSpec = minute(1, { name: 'own', match: { path: '/nowhere' } })
const proxies = { identity: { trustedProxies: ['127.0.0.0/8', '::1'] } }
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

interface Client {
  readonly limiter: Limiter
  readonly port: number
  ask(path: string, ask?: HttpAsk): Promise<HttpAnswer>
}

const remaining = ({ headers }: HttpAnswer): number =>
  Number(/;r=(\d+)/.exec(String(headers.ratelimit))?.[1] ?? Number.NaN)

/**
 * What every adapter for HTTP must do, for your own ones too.
 *
 * @example httpConformance('polka', startPolkaApp, { describe, it })
 */
export function httpConformance(subject: string, start: StartHttpApp, { describe, it }: HttpTestFramework): void {
  async function using(
    rules: readonly RuleSpec[],
    options: HttpAppOptions,
    body: (client: Client) => Promise<void>,
    store?: Store,
  ): Promise<void> {
    const policy: PolicyDocument = { service: 'suite', rules }
    const limiter = await createLimiter({ policy, ...(store === undefined ? {} : { store }) })
    const app = await start(limiter, options, own)
    try {
      const ask = (path: string, asked?: HttpAsk) => exchange(app.port, path, asked).answer
      await body({ limiter, port: app.port, ask })
    } finally {
      await app.close()
      await limiter.close()
    }
  }

  describe(`${subject} as an adapter for HTTP`, () => {
    it('lets requests pass and tells what is left', () =>
      using([minute(3)], {}, async ({ ask }) => {
        const answer = await ask('/hello')
        assert.equal(answer.status, 200)
        assert.equal(answer.body, 'hello')
        assert.equal(answer.headers['ratelimit-policy'], '"rpm";q=3;w=60')
        assert.match(String(answer.headers.ratelimit), /^"rpm";r=2;t=(60|59)$/)
        assert.equal(answer.headers['retry-after'], undefined)
      }))

    it('refuses with 429, Retry-After and a problem', () =>
      using([minute(1)], {}, async ({ ask }) => {
        await ask('/hello')
        const { status, headers, body } = await ask('/hello')
        assert.equal(status, 429)
        const seconds = Number(headers['retry-after'])
        assert.ok(Number.isInteger(seconds) && seconds >= 1 && seconds <= 60, `Retry-After: ${headers['retry-after']}`)
        const t = Number(/;r=0;t=(\d+)$/.exec(String(headers.ratelimit))?.[1])
        assert.ok(seconds >= t, `Retry-After: ${seconds} is before the end of the window of ${t} s`)
        assert.match(String(headers['content-type']), /^application\/problem\+json\b/)
        assert.deepEqual(JSON.parse(body), {
          type: 'https://iana.org/assignments/http-problem-types#quota-exceeded',
          title: 'Request cannot be satisfied as assigned quota has been exceeded',
          status: 429,
          'violated-policies': ['rpm'],
        })
      }))

    it('lets exactly as many pass as may, however many come at once', () =>
      using([minute(10)], {}, async ({ ask }) => {
        const answers = await Promise.all(Array.from({ length: 40 }, () => ask('/hello')))
        const count = (status: number) => answers.filter((answer) => answer.status === status).length
        assert.deepEqual([count(200), count(429)], [10, 30])
      }))

    it('counts HEAD requests, and refuses them without a body', () =>
      using([minute(1)], {}, async ({ ask }) => {
        assert.equal((await ask('/hello', { method: 'HEAD' })).status, 200)
        const denied = await ask('/hello', { method: 'HEAD' })
        assert.deepEqual([denied.status, denied.body], [429, ''])
      }))

    it('leaves preflights and health checks alone, and what else it is told to', () =>
      using(
        [minute(1)],
        { skip: { methods: ['HEAD'], when: (_, view) => view.headers['x-skip'] === '1' } },
        async ({ ask }) => {
          const preflight = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
          for (let i = 0; i < 3; i++) {
            assert.notEqual((await ask('/hello', { method: 'OPTIONS', headers: preflight })).status, 429)
            assert.equal((await ask('/healthz')).status, 200)
            assert.equal((await ask('/hello', { method: 'HEAD' })).status, 200)
            assert.equal((await ask('/hello', { headers: { 'x-skip': '1' } })).status, 200)
          }
          assert.equal(remaining(await ask('/hello')), 0)
          assert.equal((await ask('/hello', { method: 'OPTIONS' })).status, 429)
        },
      ))

    it('hands the decision to handlers', () =>
      using([minute(5)], {}, async ({ ask }) => {
        const decision = JSON.parse((await ask('/decision?x=1')).body)
        assert.deepEqual([decision.allowed, decision.rule, decision.limits[0].remaining], [true, 'api', 4])
      }))

    it('reads keys from the parsed body, which the handler still gets', () =>
      using([minute(1, { match: { method: 'POST', path: '/echo' }, key: 'body.tenant' })], {}, async ({ ask }) => {
        const send = (tenant: string) => ask('/echo', { method: 'POST', json: { tenant } })
        const first = await send('a')
        assert.deepEqual([first.status, JSON.parse(first.body)], [200, { tenant: 'a' }])
        assert.equal((await send('a')).status, 429)
        assert.equal((await send('b')).status, 200)
      }))

    it('reads keys from headers and the query', () =>
      using([minute(1, { key: ['headers.x-tenant', 'query.lang'] })], {}, async ({ ask }) => {
        const send = (tenant: string, lang: string) => ask(`/hello?lang=${lang}`, { headers: { 'X-Tenant': tenant } })
        assert.equal((await send('a', 'en')).status, 200)
        assert.equal((await send('a', 'en')).status, 429)
        assert.equal((await send('a', 'de')).status, 200)
        assert.equal((await send('b', 'en')).status, 200)
      }))

    it('does not believe X-Forwarded-For by default', () =>
      using([minute(1)], {}, async ({ ask }) => {
        assert.equal((await ask('/hello', from('203.0.113.1'))).status, 200)
        assert.equal((await ask('/hello', from('203.0.113.2'))).status, 429)
      }))

    it('tells clients apart behind a trusted proxy, by their nearest address that is no proxy', () =>
      using([minute(1)], proxies, async ({ ask }) => {
        assert.equal((await ask('/hello', from('203.0.113.1'))).status, 200)
        assert.equal((await ask('/hello', from('203.0.113.2:80'))).status, 200)
        assert.equal((await ask('/hello', from('9.9.9.9, ::ffff:203.0.113.1'))).status, 429)
        assert.equal((await ask('/hello', { headers: { 'x-forwarded-for': ['8.8.8.8', '203.0.113.2'] } })).status, 429)
        assert.equal((await ask('/hello', { headers: { forwarded: 'for="[2001:db8::1]:1"' } })).status, 200)
        assert.equal((await ask('/hello', from('2001:db8::ffff'))).status, 429)
      }))

    it('charges a route as its options in code say', () =>
      using([minute(100), ownRule], {}, async ({ ask }) => {
        const as = (user: string) => ask('/own', { headers: { 'x-user': user } })
        assert.equal((await as('ann')).status, 200)
        assert.equal((await as('ann')).status, 429)
        assert.equal((await as('bob')).status, 200)
        assert.equal((await ask('/hello')).status, 200)
      }))

    it('sends the headers that are chosen', async () => {
      await using([minute(3)], { headers: ['draft-11', 'x-ratelimit'] }, async ({ ask }) => {
        const { headers } = await ask('/hello')
        assert.equal(headers['x-ratelimit-limit'], '3')
        assert.equal(headers['x-ratelimit-remaining'], '2')
        assert.equal(headers['ratelimit-policy'], '"rpm";q=3;w=60')
      })
      await using([minute(1)], { headers: false }, async ({ ask }) => {
        const allowed = await ask('/hello')
        assert.deepEqual(
          Object.keys(allowed.headers).filter((name) => name.includes('ratelimit')),
          [],
        )
        assert.ok((await ask('/hello')).headers['retry-after'])
      })
    })

    it("answers a denial as the user's handler says", () =>
      using([minute(1)], { onDenied: (denial) => ({ ...denial, status: 420, body: 'calm down' }) }, async ({ ask }) => {
        await ask('/hello')
        const { status, headers, body } = await ask('/hello')
        assert.deepEqual([status, body], [420, 'calm down'])
        assert.ok(headers['retry-after'])
      }))

    it('answers 503 when the store failed and the rule is closed, and passes when it is open', async () => {
      const broken: Store = {
        name: 'broken',
        decide: () => Promise.reject(new StoreError('refused', 'the store is down')),
        health: () => Promise.reject(new StoreError('refused', 'the store is down')),
        close: () => Promise.resolve(),
      }
      const closed = minute(1, { onStoreFailure: 'closed' })
      await using(
        [closed],
        {},
        async ({ ask }) => {
          const { status, headers, body } = await ask('/hello')
          assert.equal(status, 503)
          assert.ok(Number(headers['retry-after']) >= 1)
          assert.match(JSON.parse(body).type, /#temporary-reduced-capacity$/)
        },
        broken,
      )
      await using(
        [minute(1, { onStoreFailure: 'open' })],
        {},
        async ({ ask }) => {
          assert.equal((await ask('/hello')).status, 200)
        },
        broken,
      )
    })

    it('answers 400 when the request lacks the key of a rule that insists', () =>
      using([minute(1, { key: 'headers.x-api-key', onMissing: 'deny' })], {}, async ({ ask }) => {
        const { status, headers } = await ask('/hello')
        assert.equal(status, 400)
        assert.equal(headers['retry-after'], undefined)
        assert.equal((await ask('/hello', { headers: { 'x-api-key': 'k' } })).status, 200)
      }))

    it('sends a fault of the limiter down the path of errors', () =>
      using([minute(1), ownRule], { rule: 'no-such-rule' }, async ({ ask }) => {
        assert.equal((await ask('/hello')).status, 500)
        assert.equal((await ask('/healthz')).status, 200)
      }))

    it('charges by outcome', () =>
      using([minute(10)], { chargeWhen: ({ status }) => status === 401 }, async ({ ask, limiter }) => {
        const left = async () => (await limiter.peek('127.0.0.1')).limits[0]?.remaining
        await ask('/status/200')
        await ask('/hello')
        await waitFor(async () => (await left()) === 10, { describe: 'what was not to be charged to be back' })
        await ask('/status/401')
        await waitFor(async () => (await left()) === 9, { describe: 'the failed log-in to be charged' })
      }))

    it('charges what the response turned out to cost', () =>
      using([minute(10_000)], { cost: 5000, chargeWhen: ({ bytes }) => bytes }, async ({ ask, limiter }) => {
        assert.equal(remaining(await ask('/bytes')), 5000)
        await waitFor(async () => (await limiter.peek('127.0.0.1')).limits[0]?.remaining === 9000)
      }))

    it('settles when the client goes away', async () => {
      const ends: boolean[] = []
      const chargeWhen: HttpAppOptions['chargeWhen'] = ({ completed }) => ends.push(completed) < 0
      await using([minute(10)], { chargeWhen }, async ({ port, limiter }) => {
        const left = async () => (await limiter.peek('127.0.0.1')).limits[0]?.remaining
        const { leave } = exchange(port, '/hang')
        await waitFor(async () => (await left()) === 9, { describe: 'the request to hold its cost' })
        leave()
        await waitFor(async () => (await left()) === 10, { describe: 'the cost to be back' })
        assert.deepEqual(ends, [false])
      })
    })

    it('holds a place in flight until the response has ended', () =>
      using(
        [minute(1, { limits: { name: 'busy', amount: 1, algorithm: 'concurrency' } })],
        {},
        async ({ port, ask }) => {
          assert.equal((await ask('/hello')).headers['ratelimit-policy'], '"busy";q=1;qu="concurrent-requests"')
          const { leave } = exchange(port, '/hang')
          await waitFor(async () => (await ask('/hello')).status === 429, { describe: 'the place to be taken' })
          leave()
          await waitFor(async () => (await ask('/hello')).status === 200, { describe: 'the place to be free' })
        },
      ))

    it('lets requests wait instead, up to a maximum', () => {
      const brief = minute(1, { limits: { name: 'brief', amount: 1, per: '300ms', algorithm: 'fixed-window' } })
      const long = minute(4, { name: 'long', key: 'ip' })
      return using([brief, long], { onDeny: 'delay', maxDelayMs: 20_000 }, async ({ ask }) => {
        const answers = await Promise.all(Array.from({ length: 5 }, () => ask('/hello')))
        assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 429])
      })
    })

    it('stops waiting when the client goes away', () => {
      const brief = minute(1, { limits: { name: 'brief', amount: 1, per: '300ms', algorithm: 'fixed-window' } })
      return using([brief], { onDeny: 'delay', maxDelayMs: 20_000 }, async ({ ask, port, limiter }) => {
        let decisions = 0
        limiter.on('decision', () => decisions++)
        await ask('/hello')
        const { leave } = exchange(port, '/hello')
        await waitFor(() => decisions === 2, { describe: 'the second request to wait' })
        leave()
        await waitFor(async () => (await limiter.peek('127.0.0.1')).allowed, { describe: 'the window to end' })
        assert.equal((await ask('/hello')).status, 200)
        assert.equal(decisions, 3)
      })
    })

    it('says once, clearly, that a rule reads the body and none was parsed', async () => {
      const warnings: Error[] = []
      const note = (warning: Error) => {
        if ((warning as { code?: string }).code === 'SLUICE_BODY_NOT_PARSED') warnings.push(warning)
      }
      process.on('warning', note)
      try {
        await using([minute(9, { key: 'body.tenant' })], { parsesBody: false }, async ({ ask }) => {
          // Not JSON, which some adapters parse by themselves.
          const raw = { method: 'POST', headers: { 'content-type': 'text/csv', 'transfer-encoding': 'chunked' } }
          await ask('/hello')
          assert.equal(warnings.length, 0)
          await ask('/echo', raw)
          await ask('/echo', raw)
          await waitFor(() => warnings.length > 0, { describe: 'the warning' })
        })
        assert.equal(warnings.length, 1)
        assert.match(String(warnings[0]?.message), /body/)
      } finally {
        process.off('warning', note)
      }
    })
  })
}
