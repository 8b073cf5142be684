import { describe, expect, it } from 'vitest'
import { createPipeline } from './index.ts'

describe('execution', () => {
  const refused = (execution: unknown) =>
    createPipeline({ name: 'x', source: [1], sink: async () => undefined, execution: execution as never })

  it('names the path, the value and the remedy of each mistake', async () => {
    const execution = {
      mode: 'batch',
      batchSize: 0,
      paralellism: 2,
      partitioning: { strategy: 'hsh', partitions: 1.5 },
    }
    await expect(refused(execution)).rejects.toMatchObject({
      code: 'SLUICE_INVALID_PIPELINE',
      message: expect.stringContaining('execution.batchSize is 0; use a whole number from 1'),
      issues: [
        { path: 'execution.paralellism', value: 2, message: expect.stringContaining('did you mean "parallelism"?') },
        { path: 'execution.batchSize', value: 0, message: expect.anything() },
        { path: 'execution.partitioning.strategy', value: 'hsh', message: 'use hash, range or round_robin' },
        { path: 'execution.partitioning.partitions', value: 1.5, message: expect.anything() },
      ],
    })
  })

  it('is a load when no mode is given', async () => {
    const pipeline = await createPipeline({
      name: 'x',
      source: [1],
      sink: async () => {},
      execution: { batchSize: 10 },
    })
    expect(pipeline.stats().mode).toBe('batch')
    await pipeline.close()
  })

  it('says which fields belong to the other mode', async () => {
    const message = 'execution.checkpointIntervalMs is 30000; mode batch has no checkpointIntervalMs; leave it out'
    await expect(refused({ mode: 'batch', checkpointIntervalMs: 30_000 })).rejects.toThrow(message)
  })
})
