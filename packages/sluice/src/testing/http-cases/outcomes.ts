import assert from 'node:assert/strict'
import { StoreError } from '../../core/errors.ts'
import type { RuleSpec } from '../../policy/document/document.ts'
import type { Store } from '../../stores/store.ts'
import { exchange } from '../http-exchange.ts'
import { waitFor } from '../wait-for.ts'
import { type AddTest, type HttpAppOptions, minute, ownRule, remaining, type UsingApp } from './app.ts'

/** What is charged in the end, and what happens when something is missing or fails. */
export function claimOutcomes(using: UsingApp, it: AddTest): void {
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

  it('charges tokens to the rule that estimates them, and leaves a rule that counts requests as it is', async () => {
    const rules: RuleSpec[] = [
      { name: 'rpm', key: 'ip', limits: { rpm: 10 } },
      { name: 'tpm', key: 'ip', limits: { rpm: 1000 }, cost: 'query.tokens ?? 100' },
    ]
    for (const chargeWhen of [() => 120, () => ({ tpm: 120 })]) {
      await using(rules, { chargeWhen }, async ({ ask, limiter }) => {
        const left = async (rule: string) => (await limiter.peek('127.0.0.1', { rule })).limits[0]?.remaining
        for (let i = 1; i <= 3; i++) {
          assert.equal((await ask('/hello?tokens=300')).status, 200)
          const expected = 1000 - i * 120
          await waitFor(async () => (await left('tpm')) === expected, { describe: `the tokens of request ${i}` })
          assert.equal(await left('rpm'), 10 - i)
        }
      })
    }
  })

  it('settles when the client goes away', async () => {
    const ends: boolean[] = []
    const chargeWhen: HttpAppOptions['chargeWhen'] = ({ completed }) => ends.push(completed) * 0
    await using([minute(10)], { chargeWhen }, async ({ port, limiter }) => {
      const left = async () => (await limiter.peek('127.0.0.1')).limits[0]?.remaining
      const { leave } = exchange(port, '/hang')
      await waitFor(async () => (await left()) === 9, { describe: 'the request to hold its cost' })
      leave()
      await waitFor(async () => (await left()) === 10, { describe: 'the cost to be back' })
      assert.deepEqual(ends, [false])
    })
  })

  it('gives nothing back to a client that hangs up, unless told how much', () =>
    using([minute(10)], { chargeWhen: ({ status }) => status === 401 }, async ({ port, limiter }) => {
      const state = async () => await limiter.inspect('127.0.0.1')
      const { leave } = exchange(port, '/hang')
      await waitFor(async () => (await state()).holds.length === 1, { describe: 'the request to hold its cost' })
      leave()
      await waitFor(async () => (await state()).holds.length === 0, { describe: 'the hold to end' })
      assert.equal((await state()).limits[0]!.remaining, 9)
    }))

  it('lets requests wait instead, up to a maximum', () => {
    const brief = minute(1, { limits: { name: 'brief', amount: 1, per: '300ms', algorithm: 'fixed-window' } })
    const long = minute(4, { name: 'long', key: 'ip' })
    return using([brief, long], { maxDelay: '20s' }, async ({ ask }) => {
      const answers = await Promise.all(Array.from({ length: 5 }, () => ask('/hello')))
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 200, 429])
    })
  })

  it('stops waiting when the client goes away', () => {
    const brief = minute(1, { limits: { name: 'brief', amount: 1, per: '300ms', algorithm: 'fixed-window' } })
    return using([brief], { maxDelay: '20s' }, async ({ ask, port, limiter }) => {
      await ask('/hello')
      const { leave } = exchange(port, '/hello')
      await waitFor(() => limiter.waiting === 1, { describe: 'the second request to wait' })
      leave()
      await waitFor(() => limiter.waiting === 0, { describe: 'nobody to wait' })
      await waitFor(async () => (await limiter.peek('127.0.0.1')).allowed, { describe: 'the window to end' })
      assert.equal((await ask('/hello')).status, 200)
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
}
