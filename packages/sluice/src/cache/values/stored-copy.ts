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
const number = (text: string): number => (text === none ? Number.POSITIVE_INFINITY : Number(text))
const show = (value: number): string => (value === Infinity ? none : String(Math.round(value)))

/**
 * Writes a copy: a line of fields apart by blanks (format, generation, sequence, fresh, stale, error and fetch milliseconds, checksum, tags),
 * then the text of the codec, deflated if that was asked for.
 */
export function writeCopy(copy: Omit<StoredCopy, 'value'>, text: string, compressBytes: number): Buffer {
  let body = Buffer.from(text)
  const compresses = body.length >= compressBytes
  if (compresses) body = deflateRawSync(body)
  const { generation = none, sequence, freshMs, staleMs, errorMs, fetchMs, tags } = copy
  const times = `${show(freshMs)} ${show(staleMs)} ${show(errorMs)} ${show(fetchMs)}`
  const fields = [compresses ? deflated : plain, generation, sequence, times, crc32(body), ...tags]
  return Buffer.concat([Buffer.from(`${fields.join(' ')}\n`), body])
}

/** Reads a copy back; undefined for what is damaged, foreign, or unpacks to more than it may. */
export function readCopy(bytes: Buffer, codec: Codec, maxBytes: number): StoredCopy | undefined {
  const end = bytes.indexOf(10)
  if (end < 0 || bytes.length - end - 1 > maxBytes) return undefined
  const [format, generation, sequence, fresh, stale, error, fetch, checksum, ...tags] = bytes
    .toString('latin1', 0, end)
    .split(' ')
  if (checksum === undefined || (format !== plain && format !== deflated)) return undefined
  const body = bytes.subarray(end + 1)
  if (crc32(body) !== Number(checksum)) return undefined
  try {
    const text = format === plain ? body.toString() : inflateRawSync(body, { maxOutputLength: maxBytes }).toString()
    return {
      generation: generation === none ? undefined : generation,
      sequence: Number(sequence),
      freshMs: number(fresh!),
      staleMs: number(stale!),
      errorMs: number(error!),
      fetchMs: number(fetch!),
      tags,
      value: codec.decode(text),
    }
  } catch {
    return undefined
  }
}
