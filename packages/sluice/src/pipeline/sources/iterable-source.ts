import { SluiceError } from '../../core/errors.ts'
import { belongs, partitionNames, refuseStrategy } from '../execution.ts'
import type { PipelineRecord, PipelineSource } from '../pipeline.ts'
import { fullPages, quickPages } from './pages.ts'

type Records = AsyncIterable<unknown> | Iterable<unknown>

/**
 * Records from anything that can be iterated over. Positions are numbers of records: reading on means iterating from
 * the beginning and leaving out what was read, so that the order must be the same each time.
 */
export function iterableSource(given: Records | (() => Records)): PipelineSource {
  let isUsed = false
  const open = (): Records => {
    if (typeof given === 'function') return given()
    if (isUsed && !Array.isArray(given)) {
      const remedy =
        'pass a function that returns an iterable, as it is iterated over for each partition and again after an error'
      throw new SluiceError('SLUICE_WRONG_USE', `an iterable can be read once; ${remedy}`)
    }
    isUsed = true
    return given
  }
  return {
    async partitions(execution) {
      refuseStrategy(execution, 'range', 'the length of an iterable is not known; use hash or round_robin')
      return partitionNames(execution)
    },
    async *read({ partition, from = '0', execution, signal, clock }) {
      const isOurs = belongs(execution.partitioning, partition)
      const start = Number(from)
      const own = async function* (): AsyncGenerator<PipelineRecord> {
        let number = -1
        for await (const value of open()) {
          signal.throwIfAborted()
          number += 1
          if (number < start || isOurs?.(value, number) === false) continue
          yield { value, position: String(number + 1) }
        }
      }
      yield* execution.mode === 'batch'
        ? fullPages(own(), execution.batchSize)
        : quickPages(own(), execution.batchSize, clock)
    },
  }
}
