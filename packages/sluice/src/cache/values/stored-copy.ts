import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Codec } from './codec.ts'
import { deepFreeze } from './freeze.ts'
import { type StoredValue, timeDigits } from './stored-value.ts'

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
export function writeCopy(copy: Omit<StoredCopy, 'value'>, text: string, compressBytes: number): string | Buffer {
  const compresses = text.length >= compressBytes
  const { generation = none, sequence, freshMs, staleMs, errorMs, fetchMs, tags } = copy
  const times = `${show(freshMs)} ${show(staleMs)} ${show(errorMs)} ${show(fetchMs)}`
  const fields = [compresses ? deflated : plain, generation, sequence, times, crc32(text), ...tags].join(' ')
  if (!compresses) return `${fields}\n${text}`
  return Buffer.concat([Buffer.from(`${fields}\n`), deflateRawSync(Buffer.from(text))])
}

/** Puts a generation and sequence into a copy that was written without: `1 - 0 ...`. */
export function stampCopy(copy: string | Buffer, generation: string, sequence: number): string | Buffer {
  const stamp = `${generation} ${sequence}`
  if (typeof copy === 'string') return copy.slice(0, 2) + stamp + copy.slice(5)
  return Buffer.concat([copy.subarray(0, 2), Buffer.from(stamp), copy.subarray(5)])
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
    const packed = bytes.subarray(end + 1, stored.end)
    const text = format === 49 ? packed : inflateRawSync(packed, { maxOutputLength: maxBytes })
    if (crc32(text) !== checksum) return undefined
    const tags = fields.isOver ? noTags : fields.rest().split(' ')
    const value = deepFreeze(codec.decode(text.toString()))
    const known = generation === none ? undefined : generation
    return { generation: known, sequence, freshMs, staleMs, errorMs, fetchMs, tags, value }
  } catch {
    return undefined
  }
}

/** The last generation that was read: mostly all are the same, so the string need not be made again. */
let lastGeneration = ''
let lastBytes: Uint8Array = new Uint8Array()

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
    const bytes = this.#bytes
    const end = this.#end
    let at = this.#at
    if (bytes[at] === 45) {
      this.#at = at + 2
      return Number.POSITIVE_INFINITY
    }
    let value = at >= end ? Number.NaN : 0
    for (; at < end; at++) {
      const digit = bytes[at]! - 48
      if (digit === -16) break
      value = digit >= 0 && digit <= 9 ? value * 10 + digit : Number.NaN
    }
    this.#at = at + 1
    return value
  }

  /** Everything up to the next space. */
  text(): string {
    const from = this.#at
    const length = lastBytes.length
    if (length > 0 && this.#bytes[from + length] === 32 && isAt(this.#bytes, from, lastBytes)) {
      this.#at += length + 1
      return lastGeneration
    }
    const blank = this.#bytes.indexOf(32, from)
    const to = blank < 0 || blank > this.#end ? this.#end : blank
    this.#at = to + 1
    lastGeneration = this.#bytes.toString('latin1', from, to)
    lastBytes = Uint8Array.prototype.slice.call(this.#bytes, from, to)
    return lastGeneration
  }

  /** Everything that is left. */
  rest(): string {
    return this.#bytes.toString('latin1', this.#at, this.#end)
  }
}

function isAt(bytes: Uint8Array, from: number, part: Uint8Array): boolean {
  // From the end: generations differ there, and in few other places.
  for (let i = part.length - 1; i >= 0; i--) if (bytes[from + i] !== part[i]) return false
  return true
}
