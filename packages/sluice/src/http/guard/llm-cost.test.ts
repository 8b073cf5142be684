import { once } from 'node:events'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import express from 'express'
import { afterEach, describe, expect, test } from 'vitest'
import { RecentOutputs } from '../../admission/usage/recent-outputs.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { rateLimit as expressLimit } from '../express/index.ts'
import { rateLimit as fetchLimit } from '../fetch/index.ts'
import { llmCost } from './llm-cost.ts'

const policy = {
  service: 'llm',
  rules: [
    { name: 'rpm', key: 'headers.x-key', limits: { rpm: 100 } },
    { name: 'tpm', key: 'headers.x-key', cost: 'body.max_tokens ?? 1', limits: { rpm: 10_000 } },
  ],
} as const

const closing: (() => unknown)[] = []
afterEach(async () => {
  for (const close of closing.splice(0)) await close()
})

const limiterOf = async () => {
  const limiter = await createLimiter({ policy })
  closing.push(() => limiter.close())
  const used = async (rule: 'rpm' | 'tpm'): Promise<number> => {
    const [limit] = (await limiter.inspect('k', { rule })).limits
    return limit!.amount - limit!.remaining
  }
  return { limiter, used }
}

async function listen(handler: RequestListener): Promise<string> {
  const server = createServer(handler)
  closing.push(() => server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const ask = (url: string, body: object): Promise<Response> =>
  fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-key': 'k' },
    body: JSON.stringify(body),
  })

const answer = { usage: { prompt_tokens: 100, completion_tokens: 40, prompt_tokens_details: { cached_tokens: 50 } } }
const stream = `data: {"choices":[{"delta":"hi"}]}\n\ndata: ${JSON.stringify(answer)}\n\ndata: [DONE]\n\n`

describe('the tokens of a language model', () => {
  test.each([
    ['at once', 'application/json', [JSON.stringify(answer)]],
    ['streamed', 'text/event-stream', [stream.slice(0, 50), stream.slice(50)]],
  ])('are charged as the answer reports them, %s, in Express', async (_, type, chunks) => {
    const { limiter, used } = await limiterOf()
    const app = express()
    app.use(
      expressLimit(limiter, { ...llmCost({ weights: { cached: 0.1 } }), headers: 'openai', parseBody: express.json() }),
    )
    app.post('/v1/chat', async (_request, response) => {
      // What is held meanwhile is the estimate: the text, and the maximum.
      expect(await used('tpm')).toBeGreaterThanOrEqual(4000)
      response.setHeader('content-type', type)
      for (const chunk of chunks) response.write(chunk)
      response.end()
    })
    const response = await ask(`${await listen(app)}/v1/chat`, { model: 'm', max_tokens: 4000, messages: [] })
    expect(await response.text()).toBe(chunks.join(''))
    await expect.poll(() => used('tpm')).toBe(50 + 5 + 40)
    expect(await used('rpm')).toBe(1)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'x-ratelimit-limit-requests': '100',
      'x-ratelimit-remaining-requests': '99',
      'x-ratelimit-limit-tokens': '10000',
      'x-ratelimit-reset-tokens': expect.stringMatching(/^(1m0s|\d+s)$/),
    })
  })

  test('are charged as the answer reports them, streamed, by a fetch handler', async () => {
    const { limiter, used } = await limiterOf()
    const handler = fetchLimit(limiter, () => new Response(stream), llmCost())
    const headers = { 'content-type': 'application/json', 'x-key': 'k' }
    const body = JSON.stringify({ model: 'm', max_tokens: 4000 })
    const response = await handler(new Request('http://test/v1/chat', { method: 'POST', headers, body }))
    expect(await response.text()).toBe(stream)
    await expect.poll(() => used('tpm')).toBe(140)
  })

  test('are held before they are known, so that calls without a maximum do not all pass together', async () => {
    const { limiter, used } = await limiterOf()
    const waiting: (() => void)[] = []
    const handler = fetchLimit(
      limiter,
      () => new Promise<Response>((resolve) => waiting.push(() => resolve(Response.json(answer)))),
      llmCost({ leastOutput: 1000 }),
    )
    const headers = { 'content-type': 'application/json', 'x-key': 'k' }
    const call = () => handler(new Request('http://test/', { method: 'POST', headers, body: '{"model":"m"}' }))
    const calls = Array.from({ length: 64 }, call)
    await expect.poll(() => waiting.length).toBe(9)
    for (const end of waiting) end()
    const responses = await Promise.all(calls)
    await Promise.all(responses.map((response) => response.text()))
    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter((status) => status === 429)).toHaveLength(55)
    await expect.poll(() => used('tpm')).toBe(9 * 140)
  })

  test('are given back but for one when the model failed, which costs its request, and stay estimated when it reports none', async () => {
    const { limiter, used } = await limiterOf()
    let status = 500
    const handler = fetchLimit(limiter, () => Response.json({}, { status }), llmCost())
    const headers = { 'content-type': 'application/json', 'x-key': 'k' }
    const call = async () =>
      (await handler(new Request('http://test/', { method: 'POST', headers, body: '{"max_tokens":500}' }))).text()
    await call()
    await expect.poll(() => used('tpm')).toBe(1)
    expect(await used('rpm')).toBe(1)
    status = 200
    await call()
    await expect.poll(() => used('tpm')).toBeGreaterThanOrEqual(500)
  })

  test.each([
    [{ leastOutput: -1 }, 'leastOutput'],
    [{ weights: { cached: Number.NaN } }, 'weights.cached'],
    [{ weight: {} }, 'weight'],
  ])('are not counted by options that make no sense: %j', (options, name) => {
    expect(() => llmCost(options as never)).toThrow(name)
  })
})

describe('the output of a model', () => {
  test('is expected to be as long as nine of ten of its last answers, and at least the minimum', () => {
    const outputs = new RecentOutputs(100)
    expect(outputs.expected('m')).toBe(100)
    for (let tokens = 10; tokens <= 200; tokens += 10) outputs.record('m', tokens * 10)
    expect(outputs.expected('m')).toBe(1800)
    for (let i = 0; i < 20; i++) outputs.record('m', 5)
    expect(outputs.expected('m')).toBe(100)
    for (let i = 0; i < 1000; i++) outputs.record(`other-${i}`, 5)
    outputs.record('late', 700)
    expect(outputs.expected('late')).toBe(700)
  })
})
