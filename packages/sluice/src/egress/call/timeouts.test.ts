import { expect, test } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { createEgress } from '../create-egress.ts'

interface Handler {
  onConnect(abort: (reason: Error) => void): void
  onError(error: Error): void
}

/** A vendor that takes requests and never answers. */
const silent = (_: unknown, handler: Handler): boolean => {
  handler.onConnect((reason) => handler.onError(reason))
  return true
}

test('a thousand requests in flight need one timer, and each times out at its own time', async () => {
  const clock = virtualClock()
  const origin = 'http://vendor.example'
  const upstream = {
    name: 'vendor',
    origin,
    limits: { amount: 5000, per: '1s' },
    timeout: '10s',
    retry: false as const,
  }
  const egress = await createEgress({ policy: { service: 's', upstreams: [upstream] }, clock })
  const dispatch = egress.interceptor()(silent as never) as unknown as (request: object, handler: object) => boolean
  const failed: unknown[] = []
  const send = (): void => {
    const onError = (error: { reason?: string }): void => void failed.push(error.reason)
    dispatch({ origin, path: '/', method: 'GET' }, { onConnect() {}, onError })
  }
  send()
  await new Promise((resolve) => setImmediate(resolve))
  const timers = clock.pending
  for (let sent = 1; sent < 500; sent++) send()
  expect(clock.pending).toBe(timers)
  await clock.advance('5s')
  for (let sent = 0; sent < 500; sent++) send()
  expect(clock.pending).toBe(timers)
  await clock.advance(4999)
  expect(failed).toEqual([])
  await clock.advance(1)
  expect(failed).toEqual(Array.from({ length: 500 }, () => 'timeout'))
  await clock.advance('5s')
  expect(failed).toHaveLength(1000)
  await egress.close()
})
