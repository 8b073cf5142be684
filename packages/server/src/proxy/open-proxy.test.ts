import { expect, test } from 'vitest'
import { warningsFor } from './open-proxy.ts'

const tokens = { current: [{ name: 'a', token: 'token' }] }

test('credentials for an upstream that does not exist are warned about: its calls would go without them', () => {
  const egress = { upstreams: [{ name: 'vendor' }] } as never
  expect(warningsFor(tokens, { current: { vendor: { authorization: 'a' } } }, egress)).toEqual([])
  expect(warningsFor(tokens, { current: { vendr: { authorization: 'a' } } }, egress)).toEqual([
    'There are credentials for vendr, but the policy has no upstream of that name.',
  ])
})
