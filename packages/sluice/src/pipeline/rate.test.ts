import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { createLimiter } from '../limiter/create-limiter.ts'
import { filePolicy } from '../policy/sources/file/file.ts'
import { waitFor } from '../testing/wait-for.ts'
import { createPipeline, memoryPositions } from './index.ts'
import { collecting, numbers } from './testing/runs.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-rate-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

describe('the rate of a pipeline', () => {
  const policy = { service: 'shop', rules: [{ name: 'writes', limits: { rph: 20 } }] }
  const perSecond = { service: 'shop', rules: [{ name: 'writes', limits: { rps: 20 } }] }

  it('lets a batch take what is granted now, in order, and wait for the rest', async () => {
    const limiter = await createLimiter({ policy: perSecond })
    const sink = collecting()
    const pipeline = await createPipeline<{ id: number }>({
      name: 'rated',
      source: numbers(40),
      sink: sink.write,
      limiter,
      rate: { rule: 'writes' },
    })
    await limiter.take('all', { rule: 'writes', cost: 5 })
    await pipeline.run()
    expect(sink.batches[0]!.records).toHaveLength(15)
    expect(sink.batches.map(({ from }) => from)).toEqual([
      undefined,
      ...sink.batches.slice(0, -1).map(({ next }) => next),
    ])
    expect(sink.values().map(({ id }) => id)).toEqual(numbers(40).map(({ id }) => id))
    await pipeline.close()
    await limiter.close()
  })

  it('repeats nothing that was written before a wait, when the run ends in it', async () => {
    const [positions, sink] = [memoryPositions(), collecting()]
    const source = numbers(50)
    const shared = {
      name: 'ended',
      run: '1',
      source,
      sink: sink.write,
      positions,
      rate: { rule: 'writes' },
      lease: 100,
    }
    const limiter = await createLimiter({ policy })
    const first = await createPipeline<{ id: number }>({ ...shared, limiter })
    const running = first.run()
    await waitFor(() => first.stats().partitions[0]?.doing === 'waiting')
    await first.close({ within: 1 })
    await running
    await limiter.close()
    const fresh = await createLimiter({ policy: { ...policy, rules: [{ name: 'writes', limits: { rph: 1000 } }] } })
    const second = await createPipeline<{ id: number }>({ ...shared, limiter: fresh })
    await second.run()
    expect(sink.values().map(({ id }) => id)).toEqual(numbers(50).map(({ id }) => id))
    await second.close()
    await fresh.close()
  })

  it('follows a change of the policy while records wait', async () => {
    const path = join(folder, 'policy.yaml')
    const limitTo = (rph: number): void =>
      writeFileSync(path, `service: shop\nrules: [{ name: writes, limits: { rph: ${rph} } }]\n`)
    limitTo(5)
    const limiter = await createLimiter({ policy: filePolicy(path) })
    const sink = collecting()
    const options = { name: 'live', source: numbers(300), sink: sink.write, limiter, rate: { rule: 'writes' } }
    const pipeline = await createPipeline<{ id: number }>(options)
    const running = pipeline.run()
    await waitFor(() => sink.values().length === 5 && pipeline.stats().partitions[0]?.doing === 'waiting')
    limitTo(10_000_000)
    await running
    expect(sink.values()).toHaveLength(300)
    await pipeline.close()
    await limiter.close()
  })

  it('holds up one key and its partition, and not the others', async () => {
    const limiter = await createLimiter({ policy })
    const sink = collecting<{ id: number; tenant: string }>()
    const rows = Array.from({ length: 200 }, (_, id) => ({ id, tenant: id < 150 ? 'noisy' : `quiet-${id % 10}` }))
    const pipeline = await createPipeline<{ id: number; tenant: string }>({
      name: 'tenants',
      source: rows,
      sink: sink.write,
      limiter,
      rate: { rule: 'writes', key: ({ tenant }) => tenant },
      execution: {
        mode: 'batch',
        batchSize: 10,
        partitioning: { strategy: 'hash', key: 'tenant', partitions: 64 },
      },
    })
    pipeline.run().catch(() => undefined)
    await waitFor(() => sink.values().filter(({ tenant }) => tenant !== 'noisy').length === 50)
    expect(sink.values().filter(({ tenant }) => tenant === 'noisy').length).toBeLessThanOrEqual(20)
    await pipeline.close({ within: 10 })
    await limiter.close()
  })

  it.each([
    ['without a limiter', {}, { rule: 'writes' }, 'createPipeline.limiter is undefined'],
    ['of an unknown rule', { limits: true }, { rule: 'wrties' }, 'wrties'],
    ['whose limit is below the cost of one record', { limits: true }, { rule: 'none' }, 'raise it'],
  ])('is refused at start %s', async (_, { limits }: { limits?: boolean }, rate, message) => {
    const none = { name: 'none', limits: { rph: 0 } }
    const limiter =
      limits === undefined ? undefined : await createLimiter({ policy: { ...policy, rules: [...policy.rules, none] } })
    const options = { name: 'x', source: [1], sink: async () => undefined, rate, ...(limiter ? { limiter } : {}) }
    await expect(createPipeline(options)).rejects.toThrow(message)
    await limiter?.close()
  })
})
