import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { checkOptionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import { belongs, partitionNames, refuseStrategy } from '../execution.ts'
import type { PipelineRecord, PipelineSource, ReadOptions } from '../pipeline.ts'
import { pipelineFailed } from '../pipeline-error.ts'
import { csvRecords } from './csv-records.ts'
import { jsonLines } from './json-lines.ts'
import { fullPages, regrouped } from './pages.ts'

export interface FileSourceOptions {
  /** By default what the name of the file says: `csv` for `.csv` and `.csv.gz`, else `ndjson`. */
  readonly format?: 'ndjson' | 'csv'
  /** By default whether the name ends in `.gz`. */
  readonly gzip?: boolean
}

/** As much of the beginning and of the end of a file as its identity depends on. */
const sampleBytes = 65_536

/**
 * Reads a file of one JSON value per line, or of CSV with a header (needs csv-parse). The strategies hash and
 * round_robin read the whole file for each partition and keep what belongs to it; range reads parts of it, of JSON
 * lines that are not compressed.
 *
 * @example fileSource('offers.csv.gz')
 */
export function fileSource(path: string, options: FileSourceOptions = {}): PipelineSource {
  checkOptionNames('fileSource', options, ['format', 'gzip'])
  const isGzip = options.gzip ?? path.endsWith('.gz')
  const { format = /\.csv(\.gz)?$/.test(path) ? 'csv' : 'ndjson' } = options
  if (format !== 'ndjson' && format !== 'csv') throw invalidOption('fileSource.format', format, 'use ndjson or csv')
  const canSplit = format === 'ndjson' && !isGzip

  function openAt(start: number): Readable {
    const file = createReadStream(path, { start, highWaterMark: 65_536 })
    return isGzip ? file.pipe(createGunzip()).on('close', () => file.destroy()) : file
  }

  async function* pages({
    partition,
    from,
    execution: { partitioning, batchSize },
    signal,
  }: ReadOptions): AsyncGenerator<readonly PipelineRecord[]> {
    const isRange = partitioning?.strategy === 'range'
    const isOurs = isRange ? undefined : belongs(partitioning, partition)
    if (format === 'csv') {
      yield* fullPages(csvRecords(openAt(0), { from: Number(from ?? 0), isOurs, signal }), batchSize)
      return
    }
    const size = isRange ? (await sizeAndTime(path)).size : 0
    const bounds = isRange ? boundsOf(size, Number(partition), partitioning.partitions) : undefined
    const lines = jsonLines(canSplit ? openAt : undefined, () => openAt(0), { from, isOurs, bounds, signal })
    yield* regrouped(lines, batchSize)
  }

  return {
    async partitions(execution) {
      if (execution.mode === 'streaming')
        throw invalidOption('execution.mode', 'streaming', 'a file has an end; use batch')
      if (!canSplit)
        refuseStrategy(
          execution,
          'range',
          'only JSON lines that are not compressed can be split; use hash or round_robin',
        )
      return partitionNames(execution)
    },
    identity: () => identityOf(path),
    async *read(options) {
      try {
        yield* pages(options)
      } catch (error) {
        // A damaged file does not get better.
        const { code, message } = error as { code?: string; message: string }
        throw /^(Z_|CSV_|INVALID_OPENING_QUOTE|ENOENT)/.test(code ?? '')
          ? pipelineFailed(`${path} cannot be read: ${message}`, error)
          : error
      }
    },
  }
}

/** Lines belong to the part in which they begin. */
function boundsOf(size: number, part: number, parts: number): readonly [first: number, end: number] {
  return [Math.floor((size * part) / parts), Math.floor((size * (part + 1)) / parts)]
}

async function sizeAndTime(path: string): Promise<{ readonly size: number; readonly mtimeMs: number }> {
  const file = await open(path)
  try {
    return await file.stat()
  } finally {
    await file.close()
  }
}

async function identityOf(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { size, mtimeMs } = await file.stat()
    const hash = createHash('sha256')
    for (const position of [0, Math.max(0, size - sampleBytes)]) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(sampleBytes), 0, sampleBytes, position)
      hash.update(buffer.subarray(0, bytesRead))
    }
    return `${size}-${Math.floor(mtimeMs)}-${hash.digest('hex').slice(0, 32)}`
  } finally {
    await file.close()
  }
}
