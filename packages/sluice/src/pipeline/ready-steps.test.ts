import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, it, vi } from 'vitest'
import { createCache, defineKeys, key } from '../cache/index.ts'
import { createPipeline, lookup, threads } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-steps-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const execution = { mode: 'batch', batchSize: 10, parallelism: 2 } as const

it('lookup asks the cache once for a batch, and fetches only what is missing, together', async () => {
  const cache = await createCache()
  const keys = defineKeys({ customer: key('customer', ['id'], { ttl: '1h' }) })
  const asked: number[][] = []
  type Order = { id: number; customer: number }
  const step = lookup(cache, {
    key: ({ customer }: Order) => keys.customer(String(customer)),
    fetch(orders) {
      asked.push(orders.map(({ customer }) => customer))
      return orders.map(({ customer }) => ({ tier: `t${customer}` }))
    },
    use: ({ id }, { tier }) => ({ id, tier }),
  })
  const written: unknown[] = []
  const pipeline = await createPipeline<unknown>({
    name: 'orders',
    source: Array.from({ length: 30 }, (_, id) => ({ id, customer: id % 12 })),
    steps: [step],
    sink: async ({ records }) => void written.push(...records.map(({ value }) => value)),
    execution,
  })
  await pipeline.run()
  await pipeline.close()
  await cache.close()
  expect(written).toEqual(Array.from({ length: 30 }, (_, id) => ({ id, tier: `t${id % 12}` })))
  expect(asked).toEqual([
    [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
    [10, 11],
  ])
})

it('threads computes batches in other threads, and rejects what they reject', async () => {
  const file = join(folder, 'square.mjs')
  const code = `import { threadId } from 'node:worker_threads'
export default (rows) => rows.map(({ id }) => (id === 7 ? new Error('seven') : { square: id * id, threadId }))`
  writeFileSync(file, code)
  const written: { square: number; threadId: number }[] = []
  const rejected: string[] = []
  const pipeline = await createPipeline<{ square: number; threadId: number }>({
    name: 'squares',
    source: Array.from({ length: 40 }, (_, id) => ({ id })),
    steps: [threads(file, { size: 2 })],
    sink: async ({ records }) => void written.push(...records.map(({ value }) => value)),
    deadLetters: async ({ records }) => void rejected.push(...records.map(({ value }) => value.reason)),
    execution: { ...execution, partitioning: { strategy: 'round_robin', partitions: 4 } },
  })
  await pipeline.run()
  await pipeline.close()
  expect(written.map(({ square }) => Math.sqrt(square)).sort((a, b) => a - b)).toEqual(
    Array.from({ length: 40 }, (_, id) => id).filter((id) => id !== 7),
  )
  expect(written.every(({ threadId }) => threadId > 0)).toBe(true)
  expect(rejected).toEqual(['seven'])
})

it('threads that cannot be started are started again with the next try, and close without an error', async () => {
  const file = join(folder, 'same.mjs')
  writeFileSync(file, 'export default (rows) => rows')
  vi.doMock('piscina', () => {
    throw new Error('it is not there yet')
  })
  const step = threads(file, { size: 1 }) as unknown as {
    batch(values: unknown[], context: { signal: AbortSignal }): Promise<unknown[]>
    close(): Promise<void>
  }
  const context = { signal: new AbortController().signal }
  await expect(step.batch([1], context)).rejects.toThrow()
  await step.close()
  vi.doUnmock('piscina')
  expect(await step.batch([1], context)).toEqual([1])
  await step.close()
})
