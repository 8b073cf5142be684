import { startRedis } from 'sluice/testing'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { adminToken, send, startDaemon } from '../../../testing/started.ts'

let redis: Awaited<ReturnType<typeof startRedis>>
beforeAll(async () => {
  redis = await startRedis()
})
afterAll(() => redis?.stop())

const start = () => startDaemon({ redis: redis.url })
const page = { authorization: '', 'x-sluice-page': '1' }
const isSignedIn = async (url: string, value: string): Promise<boolean> => {
  const cookie = `sluice_session_${new URL(url).port}=${value}`
  const { body } = await send(`${url}/v1/session`, 'GET', undefined, { ...page, cookie })
  return (body as { signedIn: boolean }).signedIn
}

test('signing out ends a session on every daemon of the Redis, also on one that starts later', async () => {
  const [one, other] = await Promise.all([start(), start()])
  const { headers } = await send(`${one.url}/v1/session`, 'POST', { secret: adminToken }, page)
  const [, value] = /=([^;]+)/.exec(headers.get('set-cookie')!)!
  expect(await isSignedIn(other.url, value!)).toBe(true)
  const cookie = `sluice_session_${new URL(one.url).port}=${value}`
  await send(`${one.url}/v1/session`, 'DELETE', undefined, { ...page, cookie })
  await vi.waitFor(async () => expect(await isSignedIn(other.url, value!)).toBe(false), 5000)
  const later = await start()
  await vi.waitFor(async () => expect(await isSignedIn(later.url, value!)).toBe(false), 5000)
  await Promise.all([one, other, later].map((daemon) => daemon.close()))
})
