import { expect, test } from 'vitest'
import { checked } from './push-policy.ts'

const documentWith = (overrides: number) => ({
  service: 'shop',
  rules: [
    {
      name: 'per-user',
      key: 'query.user',
      limits: { rpm: 10 },
      overrides: Array.from({ length: overrides }, (_, i) => ({ key: `tenant-${i}`, limits: { rpm: i } })),
    },
  ],
})

test('a large document is checked in slices: the daemon decides meanwhile', async () => {
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const { policy, parsed } = await checked({ env: {} }, documentWith(20_000))
  isDone = true
  expect(turns).toBeGreaterThan(10)
  expect([policy.rules.length, parsed]).toEqual([1, documentWith(20_000)])
})

test('mistakes in a long text are answered with their places', async () => {
  const lines = Array.from({ length: 1000 }, (_, i) => `      - { key: tenant-${i}, limits: { rpm: 1 } }`)
  lines[700] = '      - { key: tenant-700, limits: { rpm: many } }'
  const text = ['service: shop', 'rules:', '  - name: r', '    limits: { rpm: 1 }', '    overrides:', ...lines].join(
    '\n',
  )
  await expect(checked({ env: {} }, text)).rejects.toMatchObject({
    status: 422,
    extra: { issues: [{ path: 'rules[0].overrides[700].limits.rpm', range: { line: 706 } }] },
  })
})
