import { type Batch, createPipeline, type PipelineOptions } from '../index.ts'

export const numbers = (count: number): { id: number; tenant: string }[] =>
  Array.from({ length: count }, (_, id) => ({ id, tenant: `t${id % 7}` }))

/** A sink in memory, and the batches that it took. */
export function collecting<T = { id: number }>(): {
  readonly batches: Batch<T>[]
  values(): T[]
  write(batch: Batch<T>): Promise<void>
} {
  const batches: Batch<T>[] = []
  return {
    batches,
    values: () => batches.flatMap(({ records }) => records.map(({ value }) => value)),
    write: async (batch) => void batches.push(batch),
  }
}

export async function runToEnd<T>(options: PipelineOptions<T>) {
  const pipeline = await createPipeline(options)
  try {
    return { report: await pipeline.run(), stats: pipeline.stats() }
  } finally {
    await pipeline.close()
  }
}

/** Records without an end; says when it was asked for one. */
export async function* endless(order: string[]): AsyncGenerator<{ id: number }> {
  for (let id = 0; ; id++) {
    await new Promise((resolve) => setImmediate(resolve))
    if (id === 0) order.push('opened')
    yield { id }
  }
}

export async function* slowly<T>(records: readonly T[]): AsyncGenerator<T> {
  for (const record of records) {
    await new Promise((resolve) => setImmediate(resolve))
    yield record
  }
}
