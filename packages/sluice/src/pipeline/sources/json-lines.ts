import type { Readable } from 'node:stream'
import type { PipelineRecord } from '../pipeline.ts'

export interface JsonLineOptions {
  readonly from: string | undefined
  readonly isOurs: ((value: unknown, number: number) => boolean) | undefined
  /** Only lines that begin within these bytes. */
  readonly bounds: readonly [first: number, end: number] | undefined
  readonly signal: AbortSignal
}

export const longestLine: number = 16 * 1024 * 1024
/** So much of a rejected line is kept. */
const keptCharacters = 10_000
const lineEnd = 10

/** Bytes that end where a line does. Of a line that is too long only the beginning; `length` is that of all of it. */
interface Piece {
  readonly bytes: Buffer
  readonly length: number
}

/**
 * One JSON value per line: for each piece of the input, its records, which are parsed as they are asked for. A position
 * is where the next line begins, and its number: `4096:12`. `openAt` is undefined where the input can only be read from
 * its beginning.
 */
export async function* jsonLines(
  openAt: ((start: number) => Readable) | undefined,
  open: () => Readable,
  { from, isOurs, bounds, signal }: JsonLineOptions,
): AsyncGenerator<Iterable<PipelineRecord>> {
  const [resumeAt, resumeLine] = (from ?? '0:0').split(':').map(Number) as [number, number]
  const [first, end] = bounds ?? [0, Number.POSITIVE_INFINITY]
  // The byte before a part tells whether a line begins with the part.
  const start = from === undefined ? Math.max(0, first - 1) : resumeAt
  let at = openAt ? start : 0
  let number = openAt && from !== undefined ? resumeLine : 0
  let isInPart = from !== undefined || first === 0
  const input = openAt?.(start) ?? open()

  function* recordsOf({ bytes, length }: Piece): Generator<PipelineRecord> {
    const pieceAt = at
    const isTooLong = length > bytes.length
    for (const { line, next } of isTooLong ? [{ line: bytes.toString(), next: length }] : linesOf(bytes)) {
      const begin = at
      at = pieceAt + next
      const own = number++
      if (!isInPart) {
        isInPart = true
        continue
      }
      if (begin >= end) return
      if (begin < resumeAt || line === '') continue
      const record = isTooLong
        ? rejected(line, at, number, `the line has more than ${longestLine} bytes`)
        : recordOf(line, begin, at, number)
      if (record !== undefined && isOurs?.(record.value, own) !== false) yield record
    }
  }
  try {
    for await (const piece of wholeLines(input, signal)) {
      // Parsing a piece takes about a millisecond: what waits for the event loop comes first, such as the sink.
      await new Promise((resolve) => setImmediate(resolve))
      signal.throwIfAborted()
      yield recordsOf(piece)
      if (at >= end) return
    }
  } finally {
    input.destroy()
  }
}

/** Only the position of the last record of a batch is asked for. */
class LineRecord implements PipelineRecord {
  readonly value: unknown
  readonly next: number
  readonly number: number

  constructor(value: unknown, next: number, number: number) {
    this.value = value
    this.next = next
    this.number = number
  }

  get position(): string {
    return `${this.next}:${this.number}`
  }
}

function recordOf(line: string, begin: number, next: number, number: number): PipelineRecord | undefined {
  const text = begin === 0 && line.startsWith('\ufeff') ? line.slice(1) : line
  const refused = (why: string): PipelineRecord => rejected(text, next, number, why)
  try {
    const value: unknown = JSON.parse(text)
    const rounded = roundedInteger(text)
    if (rounded !== undefined) return refused(`the number ${rounded} would be rounded; write it as text`)
    return new LineRecord(value, next, number)
  } catch (error) {
    if (text.trim() === '') return undefined
    return refused(`it is no JSON: ${(error as Error).message}`)
  }
}

function rejected(text: string, next: number, number: number, why: string): PipelineRecord {
  return { value: text.slice(0, keptCharacters), position: `${next}:${number}`, rejected: why }
}

/** The first integer of a JSON text that a number cannot hold, so that two ids would become one. */
function roundedInteger(json: string): string | undefined {
  if (!/\d{16}/.test(json)) return undefined
  const withoutTexts = json.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""')
  const integers = withoutTexts.match(/(?<![\d.eE+-])-?\d{16,}(?![\d.eE])/g)
  return integers?.find((written) => !Number.isFinite(Number(written)) || BigInt(written) !== BigInt(Number(written)))
}

/** Lines without their ends, with the byte at which the next one begins. */
function* linesOf(bytes: Buffer): Generator<{ readonly line: string; readonly next: number }> {
  const text = bytes.toString('utf8')
  // Then every character is one byte.
  const isAscii = text.length === bytes.length
  for (let begin = 0, next = 0; next < bytes.length; ) {
    const found = text.indexOf('\n', begin)
    const end = found < 0 ? text.length : found
    const byte = isAscii || found < 0 ? end : bytes.indexOf(lineEnd, next)
    next = found < 0 ? bytes.length : byte + 1
    yield { line: text.slice(begin, end), next }
    begin = end + 1
  }
}

/** The input in pieces. Of a line that is too long, no more than its beginning is kept in memory. */
async function* wholeLines(input: Readable, signal: AbortSignal): AsyncGenerator<Piece> {
  let pieces: Buffer[] = []
  let length = 0
  for await (const chunk of input as AsyncIterable<Buffer>) {
    // A line may have no end.
    signal.throwIfAborted()
    let begin = 0
    if (length > longestLine) {
      begin = chunk.indexOf(lineEnd) + 1
      length += begin === 0 ? chunk.length : begin
      if (begin === 0) continue
      yield { bytes: pieces[0]!, length }
      pieces = []
      length = 0
    }
    const end = chunk.lastIndexOf(lineEnd) + 1
    if (end > begin) {
      const lines = chunk.subarray(begin, end)
      const bytes = length === 0 ? lines : Buffer.concat([...pieces, lines])
      pieces = []
      length = 0
      yield { bytes, length: bytes.length }
    }
    const from = Math.max(begin, end)
    if (from === chunk.length) continue
    pieces.push(chunk.subarray(from))
    length += chunk.length - from
    if (length > longestLine) pieces = [Buffer.concat(pieces, keptCharacters)]
  }
  if (length > longestLine) yield { bytes: pieces[0]!, length }
  else if (length > 0) yield { bytes: Buffer.concat(pieces), length }
}
