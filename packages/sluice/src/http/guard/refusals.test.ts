import { describe, expect, it } from 'vitest'
import { createLimiter } from '../../limiter/create-limiter.ts'
import type { RuleSpec } from '../../policy/document/document.ts'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { decisionAnswers } from './decision-answers.ts'
import { limiterGuard } from './limiter-guard.ts'

const view = (ip = '192.0.2.1') => ({ method: 'GET', path: '/', headers: {}, ip })

async function refusal(rule: Partial<RuleSpec>, taken: number) {
  const clock = virtualClock()
  const rules = [{ name: 'r', key: 'ip', limits: { rpm: 5 }, ...rule }]
  const limiter = await createLimiter({ policy: { service: 's', rules }, clock })
  for (let i = 0; i < taken; i++) await limiter.check(view())
  await clock.advance(18_000)
  const { denial } = decisionAnswers(limiter)(await limiter.check(view()))
  await limiter.close()
  return { denial: denial!, body: JSON.parse(denial!.body), headers: new Map(denial!.headers) }
}

describe('a refusal', () => {
  it('says what is used up and when it passes again, in words and in numbers', async () => {
    const { denial, body, headers } = await refusal({}, 5)
    expect(body).toMatchObject({
      status: 429,
      detail: '5 per minute used up; again in 42 s',
      limit: { name: 'rpm', amount: 5, windowMs: 60_000 },
      retryAfter: 42,
      'violated-policies': ['rpm'],
    })
    expect(headers.get('Retry-After')).toBe('42')
    expect(denial.problem).toEqual(body)
  })

  it('names the limit that denies for longest', async () => {
    const limits = [
      { amount: 2, per: '15m' },
      { amount: 2, per: '1h' },
    ]
    expect((await refusal({ limits }, 2)).body.detail).toBe('2 per hour used up; again in 3582 s')
  })

  it('has the status, title and text that its rule gives it', async () => {
    const answer = { status: 420, title: 'Enhance your calm', detail: 'Buy more at https://shop.example' }
    const { denial, body } = await refusal({ answer }, 5)
    expect(denial.status).toBe(420)
    expect(body).toMatchObject({ ...answer, type: 'about:blank', retryAfter: 42 })
  })

  it('of a key that the policy denies is 403, or what its rule says', async () => {
    const { body, headers } = await refusal({ limits: 'deny' }, 0)
    expect(body).toEqual({ type: 'about:blank', title: 'Forbidden', status: 403 })
    expect(headers.has('Retry-After')).toBe(false)
    expect((await refusal({ limits: 'deny', answer: { status: 429 } }, 0)).body.status).toBe(429)
  })
})

describe('what is charged by outcome', () => {
  it.each([
    ['skipFailed', { 200: 1, 404: 0, 500: 0 }],
    ['skipSuccessful', { 200: 0, 302: 0, 401: 1 }],
  ] as const)('can be said by name: %s', async (option, spent) => {
    for (const [status, units] of Object.entries(spent)) {
      const limiter = await createLimiter({ limits: { rpm: 5 } })
      const guard = limiterGuard(limiter, { [option]: true })
      const { finish } = await guard.decide(view(), {})
      finish?.({ status: Number(status), bytes: 0, completed: true })
      await expect.poll(async () => (await limiter.peek('192.0.2.1')).limits[0]?.remaining).toBe(5 - units)
      await limiter.close()
    }
  })

  it('is said once', () => {
    expect(() => limiterGuard({ limits: { rpm: 1 } }, { skipFailed: true, chargeWhen: () => true })).toThrow(
      'skipFailed is true; give either it or chargeWhen',
    )
  })
})
