import { crc32 } from 'node:zlib'
import type { ProcessIdentity } from '../../owner/process-identity.ts'

/*
 * The head of a segment, little-endian:
 *
 *   magic 8 | crc32 4 | version 2 | - 2 | producer 12 | number 4 | first seq 8 | created ms 8 |
 *   machine 8 | pid 4 | started 8
 *
 * Producer and number are in the file name too, so a damaged header loses no record. Machine, pid and start time show
 * whether the writer is still alive: they are here and not in a separate file, because a second file can be missing or
 * empty after a crash.
 */
export const segmentHeaderBytes = 68
const magic = Buffer.from('SLUICESG')
const version = 1

export interface SegmentHeader {
  readonly producer: string
  readonly number: number
  /** The sequence number that follows the last one of the producer's former segment. */
  readonly firstSeq: number
  readonly createdMs: number
  readonly writer: ProcessIdentity
}

export function encodeHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(segmentHeaderBytes)
  magic.copy(bytes, 0)
  bytes.writeUInt16LE(version, 12)
  bytes.write(header.producer, 16, 12, 'hex')
  bytes.writeUInt32LE(header.number, 28)
  bytes.writeBigUInt64LE(BigInt(header.firstSeq), 32)
  bytes.writeBigUInt64LE(BigInt(header.createdMs), 40)
  bytes.write(header.writer.machine, 48, 8, 'hex')
  bytes.writeUInt32LE(header.writer.pid, 56)
  bytes.writeBigUInt64LE(BigInt(header.writer.started), 60)
  bytes.writeUInt32LE(crc32(bytes.subarray(12)), 8)
  return bytes
}

/** Undefined when it is damaged, incomplete, or of a later version. */
export function decodeHeader(bytes: Buffer): SegmentHeader | undefined {
  if (bytes.length < segmentHeaderBytes || !bytes.subarray(0, 8).equals(magic)) return undefined
  const head = bytes.subarray(0, segmentHeaderBytes)
  if (crc32(head.subarray(12)) !== head.readUInt32LE(8) || head.readUInt16LE(12) !== version) return undefined
  return {
    producer: head.toString('hex', 16, 28),
    number: head.readUInt32LE(28),
    firstSeq: Number(head.readBigUInt64LE(32)),
    createdMs: Number(head.readBigUInt64LE(40)),
    writer: {
      machine: head.toString('hex', 48, 56),
      pid: head.readUInt32LE(56),
      started: Number(head.readBigUInt64LE(60)),
    },
  }
}
