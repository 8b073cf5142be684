import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createLimiter } from 'sluice'
import { expect, test } from 'vitest'
import { imageService } from './src/app.ts'
import { rateLimitKey } from './src/rate-limit-key.ts'

test.each([
  [{ model_version: 'gpt-vision', hd_mode: true }, 'model:gpt-vision:res:hd'],
  [{ hd_mode: 1, model_version: 'v2' }, 'model:v2:res:hd'],
  [undefined, 'model:v1:res:sd'],
  [{ model_version: 'v1:res:hd' }, 'model:unknown:res:sd'],
  [{ model_version: 'GPT-Vision', hd_mode: true }, 'model:unknown:res:hd'],
  [{ model_version: ['v1'] }, 'model:unknown:res:sd'],
])('the key is the version of the model and the resolution: %#', (body, key) => {
  expect(rateLimitKey(body)).toBe(key)
})

// The story with Redis and MongoDB is in the test of sentiment-service, which shares both.
test('one resolution of a model that is used up does not hold up the other', async () => {
  const policy = {
    _id: 'image-service',
    last_updated: '2026-01-01T00:00:00Z',
    general_rate_limit: { rpm: 100 },
    custom_rate_limits: { 'model:gpt-vision:res:hd': { rpm: 1 } },
  }
  const limiter = await createLimiter({ policy: policy as never })
  const server = imageService({ limiter }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const post = (body: string): Promise<Response> =>
    fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1/classify`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body },
    })
  const ask = async (body: object): Promise<number> =>
    (await post(JSON.stringify({ image_url: 'https://images.example/1', ...body }))).status
  const hd = { model_version: 'gpt-vision', hd_mode: true }
  expect([await ask(hd), await ask(hd), await ask({ ...hd, hd_mode: false })]).toEqual([200, 429, 200])
  expect(await ask({ ...hd, model_version: 'GPT-Vision' })).toBe(400)
  const broken = await post('{')
  expect(broken.status).toBe(400)
  expect(Object.keys((await broken.json()) as object)).toEqual(['error'])
  server.close()
  server.closeAllConnections()
  await limiter.close()
})
