import type { Readable } from 'node:stream'
import { missingPeer } from '../../core/missing-peer.ts'
import type { PipelineRecord } from '../pipeline.ts'
import { longestLine } from './json-lines.ts'

export interface CsvOptions {
  /** How many records to leave out. */
  readonly from: number
  readonly isOurs: ((value: unknown, number: number) => boolean) | undefined
  readonly signal: AbortSignal
}

/** The rows of a CSV with a header, as objects of texts. A position is a number of rows: a row may have many lines. */
export async function* csvRecords(
  input: Readable,
  { from, isOurs, signal }: CsvOptions,
): AsyncGenerator<PipelineRecord> {
  const { parse } = await import('csv-parse').catch((cause) =>
    Promise.reject(missingPeer('sluice/pipeline', 'csv-parse', '7', cause)),
  )
  const parser = parse({
    ...{ columns: namesOf, bom: true, relax_column_count: true, skip_empty_lines: true, info: true },
    // A quote that is never closed would make one row of all the rest.
    max_record_size: longestLine,
  })
  input.on('error', (error) => parser.destroy(error))
  input.pipe(parser)
  let number = -1
  try {
    for await (const { record, info } of parser as AsyncIterable<CsvRow>) {
      signal.throwIfAborted()
      number += 1
      if (number < from || isOurs?.(record, number) === false) continue
      const position = String(number + 1)
      const isWhole = info.error === undefined
      yield isWhole
        ? { value: record, position }
        : { value: record, position, rejected: `line ${info.lines}: it has another number of fields than the header` }
    }
  } finally {
    input.destroy()
    parser.destroy()
  }
}

/** The names of the header; of two columns of one name, one would be lost. */
function namesOf(header: readonly string[]): string[] {
  const twice = header.find((name, i) => header.indexOf(name) !== i)
  if (twice !== undefined) throw Object.assign(new Error(`two columns named ${twice}`), { code: 'CSV_HEADER' })
  return [...header]
}

interface CsvRow {
  readonly record: Record<string, string>
  readonly info: { readonly lines: number; readonly error?: unknown }
}
