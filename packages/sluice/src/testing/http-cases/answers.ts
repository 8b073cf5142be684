import assert from 'node:assert/strict'
import type { RuleSpec } from '../../policy/document/document.ts'
import { type AddTest, minute, ownRule, remaining, type UsingApp } from './app.ts'

const proxies = { identity: { trustedProxies: ['127.0.0.0/8', '::1'] } }
const from = (address: string) => ({ headers: { 'x-forwarded-for': address } })

/** Which requests pass, and what is answered. */
export function claimAnswers(using: UsingApp, it: AddTest): void {
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
        detail: `1 per minute used up; again in ${seconds} s`,
        limit: { name: 'rpm', amount: 1, windowMs: 60_000 },
        retryAfter: seconds,
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
        // What no browser sends as a preflight is a request like all others.
        const others = [{}, { ...preflight, origin: '' }, { ...preflight, 'access-control-request-method': '' }]
        for (const headers of [...others, { ...preflight, origin: 'anything' }])
          assert.equal((await ask('/hello', { method: 'OPTIONS', headers })).status, 429)
      },
    ))

  it('counts preflights that reach it by rules that name their path, unless for other methods', async () => {
    const headers = { origin: 'https://a.example', 'access-control-request-method': 'GET' }
    const denials = async (match: RuleSpec['match']): Promise<number> => {
      let denied = 0
      await using([minute(1), minute(1, { name: 'path', match })], {}, async ({ ask }) => {
        for (let i = 0; i < 3; i++) if ((await ask('/hello', { method: 'OPTIONS', headers })).status === 429) denied++
      })
      return denied
    }
    assert.equal(await denials({ path: '/hello' }), 2)
    assert.equal(await denials({ path: '/hello', method: ['OPTIONS', 'POST'] }), 2)
    assert.equal(await denials({ path: '/hello', method: 'GET' }), 0)
    assert.equal(await denials({ method: 'OPTIONS' }), 0)
    assert.equal(await denials({ path: '/other' }), 0)
  })

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

  it("answers as usual when the user's handler does not, at once or later", async () => {
    // Callbacks without braces return what their last call gave them, such as the response.
    const notDenials = ['slow down', 429, false, {}].map((returned) => () => returned as never)
    const silent = [() => {}, async () => {}, ...notDenials]
    for (const onDenied of silent) {
      await using([minute(1)], { onDenied }, async ({ ask }) => {
        await ask('/hello')
        const { status, headers, body } = await ask('/hello')
        assert.equal(status, 429)
        assert.ok(headers['retry-after'])
        assert.match(String(headers['content-type']), /^application\/problem\+json\b/)
        assert.equal(JSON.parse(body).status, 429)
      })
    }
  })
}
