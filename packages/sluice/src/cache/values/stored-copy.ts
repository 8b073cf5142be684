import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Codec } from './codec.ts'

/** What is stored of an entry in Redis, besides the time, which Redis adds. */
export interface StoredCopy {
  readonly generation: string | undefined
  readonly sequence: number
  readonly freshMs: number
  readonly staleMs: number
  readonly errorMs: number
  readonly fetchMs: number
  /** Scopes of tags; prefixes follow from the key. */
  readonly tags: readonly string[]
  readonly value: unknown
}

const plain = '1'
const deflated = '2'
const none = '-'
const noTags: readonly string[] = []
const number = (text: string): number => (text === none ? Number.POSITIVE_INFINITY : Number(text))
const show = (value: number): string => (value === Infinity ? none : String(Math.round(value)))

/**
 * Writes a copy: a line of fields apart by blanks (format, generation, sequence, fresh, stale, error and fetch milliseconds, checksum, tags),
 * then the text of the codec, deflated if that was asked for.
 */
export function writeCopy(copy: Omit<StoredCopy, 'value'>, text: string, compressBytes: number): Buffer {
  const compresses = text.length >= compressBytes
  const { generation = none, sequence, freshMs, staleMs, errorMs, fetchMs, tags } = copy
  const times = `${show(freshMs)} ${show(staleMs)} ${show(errorMs)} ${show(fetchMs)}`
  const fields = [compresses ? deflated : plain, generation, sequence, times, crc32(text), ...tags].join(' ')
  if (!compresses) return Buffer.from(`${fields}\n${text}`)
  return Buffer.concat([Buffer.from(`${fields}\n`), deflateRawSync(Buffer.from(text))])
}

/** Reads a copy back, from `start` on; undefined for what is damaged, foreign, or unpacks to more than it may. */
export function readCopy(bytes: Buffer, start: number, codec: Codec, maxBytes: number): StoredCopy | undefined {
  const end = bytes.indexOf(10, start)
  if (end < 0 || bytes.length - end - 1 > maxBytes) return undefined
  const fields = bytes.toString('latin1', start, end).split(' ')
  const [format, generation, sequence, fresh, stale, error, fetch, checksum] = fields
  if (checksum === undefined || (format !== plain && format !== deflated)) return undefined
  try {
    const text =
      format === plain
        ? bytes.toString('utf8', end + 1)
        : inflateRawSync(bytes.subarray(end + 1), { maxOutputLength: maxBytes }).toString()
    if (crc32(text) !== Number(checksum)) return undefined
    return {
      generation: generation === none ? undefined : generation,
      sequence: Number(sequence),
      freshMs: number(fresh!),
      staleMs: number(stale!),
      errorMs: number(error!),
      fetchMs: number(fetch!),
      tags: fields.length === 8 ? noTags : fields.slice(8),
      value: codec.decode(text),
    }
  } catch {
    return undefined
  }
}
