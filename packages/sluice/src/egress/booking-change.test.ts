import { expect, test } from 'vitest'
import type { PolicySource, SourceListener } from '../policy/live/source.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { createEgress } from './create-egress.ts'

test('a policy that removes an upstream and brings it back frees nothing that calls in flight have taken', async () => {
  const clock = virtualClock()
  const origin = 'http://vendor.example'
  const documentOf = (more: object): unknown => ({
    service: 's',
    upstreams: [{ name: 'vendor', origin, limits: { amount: 2, per: '1s' }, arrival: 'response', ...more }],
  })
  let listener: SourceListener | undefined
  const policy: PolicySource = {
    description: 'test',
    async start(given) {
      listener = given
      return { document: documentOf({}), revision: 1 }
    },
    close: async () => {},
  }
  const egress = await createEgress({ policy, clock })
  let written = 0
  const transport = (_: unknown, handler: { onConnect(abort: () => void): void }): boolean => {
    handler.onConnect(() => undefined)
    written += 1
    return true
  }
  const dispatch = egress.interceptor()(transport as never) as unknown as (request: object, handler: object) => boolean
  const send = (): boolean => dispatch({ origin, path: '/', method: 'GET' }, { onConnect() {}, onError() {} })
  send()
  send()
  for (const [index, change] of [{ name: 'other' }, {}].entries()) {
    const { version } = egress.policy
    listener!.changed({ document: documentOf(change), revision: index + 2 })
    // A change is compiled in the next turn of the clock.
    const versionNow = () => clock.advance(1).then(() => egress.policy.version)
    await expect.poll(versionNow).not.toBe(version)
  }
  send()
  send()
  await clock.advance('5s')
  expect(written).toBe(2)
  await egress.close()
})
