import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib'
import type { StoredValue } from '../link/cache-link.ts'
import { timeDigits } from '../link/stored-value.ts'
import type { Codec } from './codec.ts'
import { deepFreeze } from './freeze.ts'

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
  /** Frozen. */
  readonly value: unknown
}

const plain = '1'
const deflated = '2'
const none = '-'
const noTags: readonly string[] = []
const show = (value: number): string => (value === Infinity ? none : String(Math.round(value)))

/**
 * Writes a copy: a line of fields separated by spaces (format, generation, sequence, fresh, stale, error and fetch
 * milliseconds, checksum, tags), then the text of the codec, deflated if requested.
 */
export function writeCopy(copy: Omit<StoredCopy, 'value'>, text: string, compressBytes: number): Buffer {
  const compresses = text.length >= compressBytes
  const { generation = none, sequence, freshMs, staleMs, errorMs, fetchMs, tags } = copy
  const times = `${show(freshMs)} ${show(staleMs)} ${show(errorMs)} ${show(fetchMs)}`
  const fields = [compresses ? deflated : plain, generation, sequence, times, crc32(text), ...tags].join(' ')
  if (!compresses) return Buffer.from(`${fields}\n${text}`)
  return Buffer.concat([Buffer.from(`${fields}\n`), deflateRawSync(Buffer.from(text))])
}

/** Reads a copy; undefined for what is damaged, foreign, or larger than allowed when unpacked. */
export function readCopy(stored: StoredValue, codec: Codec, maxBytes: number): StoredCopy | undefined {
  const { bytes } = stored
  const start = stored.start + timeDigits
  const end = bytes.indexOf(10, start)
  if (end < 0 || end >= stored.end || stored.end - end - 1 > maxBytes) return undefined
  const fields = new Fields(bytes, start + 2, end)
  const format = bytes[start]
  const generation = fields.text()
  const sequence = fields.number()
  const freshMs = fields.number()
  const staleMs = fields.number()
  const errorMs = fields.number()
  const fetchMs = fields.number()
  const checksum = fields.number()
  if (Number.isNaN(checksum) || (format !== 49 && format !== 50)) return undefined
  try {
    const text =
      format === 49
        ? bytes.toString('utf8', end + 1, stored.end)
        : inflateRawSync(bytes.subarray(end + 1, stored.end), { maxOutputLength: maxBytes }).toString()
    if (crc32(text) !== checksum) return undefined
    const tags = fields.isOver ? noTags : fields.text(end).split(' ')
    const value = deepFreeze(codec.decode(text))
    const known = generation === none ? undefined : generation
    return { generation: known, sequence, freshMs, staleMs, errorMs, fetchMs, tags, value }
  } catch {
    return undefined
  }
}

/** The last generation that was read: mostly all are the same, so the string need not be made again. */
let lastGeneration = ''

/** Reads fields from bytes, number by number: a string for each would be garbage for every read from Redis. */
class Fields {
  readonly #bytes: Buffer
  readonly #end: number
  #at: number

  constructor(bytes: Buffer, at: number, end: number) {
    this.#bytes = bytes
    this.#at = at
    this.#end = end
  }

  get isOver(): boolean {
    return this.#at >= this.#end
  }

  /** A whole number, infinite for `-`; NaN for anything else. */
  number(): number {
    const first = this.#bytes[this.#at]
    if (first === 45) {
      this.#at += 2
      return Number.POSITIVE_INFINITY
    }
    let value = this.isOver ? Number.NaN : 0
    for (; this.#at < this.#end; this.#at++) {
      const digit = this.#bytes[this.#at]! - 48
      if (digit === -16) break
      value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN
    }
    this.#at += 1
    return value
  }

  /** Everything up to the next space, or up to `until`. */
  text(until?: number): string {
    const from = this.#at
    const length = lastGeneration.length
    if (until === undefined && length > 0 && this.#bytes[from + length] === 32 && this.#isLast(from)) {
      this.#at += length + 1
      return lastGeneration
    }
    const blank = until ?? this.#bytes.indexOf(32, from)
    const to = blank < 0 || blank > this.#end ? this.#end : blank
    this.#at = to + 1
    const text = this.#bytes.toString('latin1', from, to)
    if (until === undefined) lastGeneration = text
    return text
  }

  #isLast(from: number): boolean {
    for (let i = lastGeneration.length - 1; i >= 0; i--)
      if (this.#bytes[from + i] !== lastGeneration.charCodeAt(i)) return false
    return true
  }
}
