import { expect, test } from 'vitest'
import { virtualClock } from '../../testing/virtual-clock.ts'
import { createEgress } from '../create-egress.ts'
import type { Egress } from '../egress.ts'
import { memoryPort } from './memory-port.ts'

interface Handler {
  onConnect(abort: () => void): void
  onHeaders(status: number, headers: Buffer[], resume: () => void, statusText: string): boolean
  onComplete(trailers: Buffer[]): void
}

test('a call that is answered after its egress was closed returns what it took to the others in the process', async () => {
  const clock = virtualClock()
  const store = memoryPort(clock)
  const origin = 'http://vendor.example'
  const upstream = { name: 'vendor', origin, limits: { amount: 2, per: '1s' }, timeout: '1h', maxWait: '1h' }
  const open = () => createEgress({ policy: { service: 's', upstreams: [upstream] }, store, clock })
  const [closing, other] = [await open(), await open()]
  const written: Handler[] = []
  const send = (egress: Egress): void => {
    const transport = (_: unknown, handler: Handler): boolean => {
      handler.onConnect(() => undefined)
      return written.push(handler) > 0
    }
    const dispatch = egress.interceptor()(transport as never) as unknown as (
      request: object,
      handler: object,
    ) => boolean
    const handler = { onConnect() {}, onHeaders: () => true, onData: () => true, onComplete() {}, onError() {} }
    dispatch({ origin, path: '/', method: 'GET' }, handler)
  }
  send(closing)
  send(other)
  await closing.close()
  // Long enough for the other one to notice that it is gone.
  await clock.advance('5s')
  expect(written).toHaveLength(2)
  written[0]!.onHeaders(200, [], () => undefined, 'OK')
  written[0]!.onComplete([])
  send(other)
  expect(written).toHaveLength(2)
  await clock.advance('10s')
  expect(written).toHaveLength(3)
  await other.close()
})
