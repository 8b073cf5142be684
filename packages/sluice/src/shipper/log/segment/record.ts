import { crc32 } from 'node:zlib'

/*
 * One record, little-endian:
 *
 *   0       4        8      14     20
 *   +-------+--------+------+------+----------------+
 *   | crc32 | length | seq  | time | payload (JSON) |
 *   +-------+--------+------+------+----------------+
 *
 * The checksum covers everything after it and begins from the producer's salt: a record of another producer, or one
 * that was shifted, does not pass. A length with the top bit set is a mark, which has no payload; `seq` is the number
 * of the record that comes next:
 *
 *   skip   the numbers from `time` up to `seq` were refused, not lost
 *   foot   the segment ends here
 *   last   the segment ends here, and so does the producer
 *
 * The first record of a commit has a bit of its length set: it shows that everything before it was confirmed. Without
 * it, a confirmed event that is missing could not be distinguished from one that a power cut removed before it was
 * confirmed.
 *
 * (zlib's crc32 is the IEEE polynomial, not CRC-32C.)
 */

export const recordHeaderBytes = 20
/** The longest payload that the format allows; a longer length is damage. */
export const maxPayloadBytes: number = 16 * 1024 * 1024

const marks = { skip: 0x8000_0000, foot: 0xc000_0000, last: 0xe000_0000 } as const
export type Mark = keyof typeof marks

const firstBit = 0x2000_0000

const high = 2 ** 32

function writeUint48(into: Buffer, value: number, at: number): void {
  into.writeUInt32LE(value >>> 0, at)
  into.writeUInt16LE(Math.floor(value / high), at + 4)
}

function readUint48(from: Buffer, at: number): number {
  return from.readUInt32LE(at) + from.readUInt16LE(at + 4) * high
}

/** The start value of a producer's checksums. */
export function saltOf(producer: string): number {
  return crc32(Buffer.from(`sluice shipper ${producer}`))
}

/** Writes a record whose payload is in its place already; returns where it ends. */
export function sealRecord(
  into: Buffer,
  at: number,
  length: number,
  seq: number,
  timeMs: number,
  salt: number,
): number {
  const end = at + recordHeaderBytes + length
  into.writeUInt32LE(length, at + 4)
  writeUint48(into, seq, at + 8)
  writeUint48(into, timeMs, at + 14)
  into.writeUInt32LE(crc32(into.subarray(at + 4, end), salt), at)
  return end
}

/** Marks a record as the first of its commit. */
export function sealFirst(bytes: Buffer, at: number, salt: number): void {
  const length = bytes.readUInt32LE(at + 4) & ~firstBit
  bytes.writeUInt32LE(length | firstBit, at + 4)
  bytes.writeUInt32LE(crc32(bytes.subarray(at + 4, at + recordHeaderBytes + length), salt), at)
}

/** Whether a record or mark at an offset shows that everything before it was confirmed. */
export function isFirstAt(bytes: Buffer, at: number): boolean {
  return bytes.readUInt32LE(at + 4) >= firstBit
}

export function markRecord(mark: Mark, seq: number, time: number, salt: number): Buffer {
  const bytes = Buffer.alloc(recordHeaderBytes)
  bytes.writeUInt32LE(marks[mark], 4)
  writeUint48(bytes, seq, 8)
  writeUint48(bytes, time, 14)
  bytes.writeUInt32LE(crc32(bytes.subarray(4), salt), 0)
  return bytes
}

export const seqAt = (bytes: Buffer, at: number): number => readUint48(bytes, at + 8)
export const timeAt = (bytes: Buffer, at: number): number => readUint48(bytes, at + 14)

/** Which mark is at an offset where `lookAt` has found one. */
export function markAt(bytes: Buffer, at: number): Mark {
  const kind = bytes.readUInt32LE(at + 4)
  return kind === marks.skip ? 'skip' : kind === marks.foot ? 'foot' : 'last'
}

/** What `lookAt` finds besides a record, whose answer is the length of its payload (at least 1). */
export const found = { mark: 0, partial: -1, bad: -2 } as const

/**
 * Determines what is at an offset: a record (the length of its payload), a mark, the beginning of something that runs
 * past the end, or nothing valid. The length is checked before it is used.
 */
export function lookAt(bytes: Buffer, at: number, end: number, salt: number): number {
  if (end - at < recordHeaderBytes) return found.partial
  const field = bytes.readUInt32LE(at + 4)
  const isMark = field === marks.skip || field === marks.foot || field === marks.last
  const length = isMark || field < firstBit ? field : field - firstBit
  if (!isMark && (length === 0 || length > maxPayloadBytes)) return found.bad
  const stop = at + recordHeaderBytes + (isMark ? 0 : length)
  if (stop > end) return found.partial
  if (crc32(bytes.subarray(at + 4, stop), salt) !== bytes.readUInt32LE(at)) return found.bad
  return isMark ? found.mark : length
}

/**
 * The offset of the next valid record or mark from `at` on, whose sequence number is not below `expected`; undefined if
 * there is none. Sequence numbers are compared first, which rules out nearly every offset without computing a checksum.
 */
export function findValid(bytes: Buffer, at: number, end: number, salt: number, expected: number): number | undefined {
  for (let here = at; here + recordHeaderBytes <= end; here++) {
    const seq = readUint48(bytes, here + 8)
    if (seq >= expected && seq - expected < high && lookAt(bytes, here, end, salt) >= 0) return here
  }
  return undefined
}

/** Whether anything from `at` on shows that what came before was confirmed. */
export function hasFirst(bytes: Buffer, at: number, end: number, salt: number): boolean {
  for (let here: number | undefined = at; here !== undefined; ) {
    const look = lookAt(bytes, here, end, salt)
    if (look >= 0 && isFirstAt(bytes, here)) return true
    here = look >= 0 ? here + recordHeaderBytes + look : findValid(bytes, here + 1, end, salt, 1)
  }
  return false
}
