import { crc32, deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Codec } from './codec.ts'
import { deepFreeze } from './freeze.ts'
import { type StoredValue, timeLength } from './stored-value.ts'

/** What is stored of an entry in Redis, besides the time, which Redis adds. */
export interface StoredCopy {
  readonly generation: string | undefined
  readonly sequence: number
  readonly freshMs: number
  readonly staleMs: number
  readonly errorMs: number
  readonly fetchMs: number
  readonly etag: string | undefined
  /** Scopes of tags; prefixes follow from the key. */
  readonly tags: readonly string[]
  /** Frozen. */
  readonly value: unknown
}

const plain = '5'
const deflated = '6'
const none = '-'
const noTags: readonly string[] = []
/** The most that the four times of a copy take. */
const timesLength = 80
const show = (value: number): string => (value === Infinity ? none : String(Math.round(value)))

/**
 * Writes a copy: a line of fields separated by spaces (format; generation and twice the sequence; a checksum of all
 * that follows; fresh, stale, error and fetch milliseconds; ETag; tags), then the text of the codec, deflated if
 * requested. The checksum begins with the key: a reply that reaches the wrong call, as through a broken proxy, is
 * damaged there. It cannot include what Redis writes for producers. That is the sequence, which therefore stands twice,
 * and the generation: one that is damaged is not known to any process, so that the copy is only stale.
 */
export function writeCopy(
  key: string,
  copy: Omit<StoredCopy, 'value'>,
  text: string,
  compressBytes: number,
): string | Buffer {
  const { generation = none, sequence, freshMs, staleMs, errorMs, fetchMs, etag, tags } = copy
  const times = [freshMs, staleMs, errorMs, fetchMs].map(show)
  const fields = [...times, etag === undefined ? none : encodeURIComponent(etag), ...tags].join(' ')
  const start = `${generation} ${sequence} ${sequence}`
  if (text.length < compressBytes) {
    const rest = `${fields}\n${text}`
    return `${plain} ${start} ${crc32(rest, crc32(key))} ${rest}`
  }
  const rest = Buffer.concat([Buffer.from(`${fields}\n`), deflateRawSync(Buffer.from(text))])
  return Buffer.concat([Buffer.from(`${deflated} ${start} ${crc32(rest, crc32(key))} `), rest])
}

/** Puts a generation and sequence into a copy that was written without: `5 - 0 0 ...`. */
export function stampCopy(copy: string | Buffer, generation: string, sequence: number): string | Buffer {
  const stamp = `${generation} ${sequence} ${sequence}`
  if (typeof copy === 'string') return copy.slice(0, 2) + stamp + copy.slice(7)
  return Buffer.concat([copy.subarray(0, 2), Buffer.from(stamp), copy.subarray(7)])
}

/** Reads a copy; undefined for what is damaged, foreign, or larger than allowed, also when unpacked. */
export function readCopy(key: string, stored: StoredValue, codec: Codec, maxBytes: number): StoredCopy | undefined {
  const { bytes } = stored
  const start = stored.start + timeLength
  const end = bytes.indexOf(10, start)
  const format = bytes[start]
  if (!stored.isDated || end < 0 || end >= stored.end) return undefined
  if ((format !== 53 && format !== 54) || bytes[start + 1] !== 32) return undefined
  const fields = new Fields(bytes, start + 2, end)
  const generation = fields.text()
  const sequence = fields.number()
  if (fields.number() !== sequence) return undefined
  const checksum = fields.number()
  if (stored.end - fields.at > maxBytes + timesLength) return undefined
  if (crc32(bytes.subarray(fields.at, stored.end), crc32(key)) !== checksum) return undefined
  const freshMs = fields.number()
  const staleMs = fields.number()
  const errorMs = fields.number()
  const fetchMs = fields.number()
  const tagOfSource = fields.word()
  const tags = fields.isOver ? noTags : fields.rest().split(' ')
  try {
    const packed = bytes.subarray(end + 1, stored.end)
    const text = format === 53 ? packed : inflateRawSync(packed, { maxOutputLength: maxBytes })
    const value = deepFreeze(codec.decode(text.toString()))
    const known = generation === none ? undefined : generation
    const etag = tagOfSource === none ? undefined : decodeURIComponent(tagOfSource)
    return { generation: known, sequence, freshMs, staleMs, errorMs, fetchMs, etag, tags, value }
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

  get at(): number {
    return this.#at
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

  /** The same for what is mostly one character. */
  word(): string {
    const blank = this.#bytes.indexOf(32, this.#at)
    const to = blank < 0 || blank > this.#end ? this.#end : blank
    const text =
      to - this.#at === 1 && this.#bytes[this.#at] === 45 ? none : this.#bytes.toString('latin1', this.#at, to)
    this.#at = to + 1
    return text
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
