import { randomBytes } from 'node:crypto'

/**
 * A segment is one file of one producer: `<created ms>-<producer>-<number>` with `.open` while its producer appends to
 * it and `.seg` once it is sealed. The names of one producer sort in the order in which they were written.
 */
export interface SegmentName {
  readonly name: string
  readonly createdMs: number
  readonly producer: string
  readonly number: number
}

const pattern = /^(\d{15})-([0-9a-f]{24})-(\d{8})\.(open|seg)$/

/**
 * A new producer: every writer creates one when it starts and never shares it, so no sequence number is ever used
 * twice.
 */
export function newProducer(): string {
  return randomBytes(12).toString('hex')
}

export function segmentName(createdMs: number, producer: string, number: number): string {
  return `${String(createdMs).padStart(15, '0')}-${producer}-${String(number).padStart(8, '0')}`
}

/** Reads a file name; undefined for files that are not segments. */
export function parseSegmentName(file: string): (SegmentName & { readonly isOpen: boolean }) | undefined {
  const [, created, producer, number, kind] = pattern.exec(file) ?? []
  if (created === undefined || producer === undefined || number === undefined) return undefined
  const createdMs = Number(created)
  return {
    name: file.slice(0, file.lastIndexOf('.')),
    createdMs,
    producer,
    number: Number(number),
    isOpen: kind === 'open',
  }
}

export const openFileOf = (name: string): string => `${name}.open`
export const sealedFileOf = (name: string): string => `${name}.seg`
/** The id of an event: it never changes, no matter how often and from where the event is sent. */
export const eventId = (producer: string, seq: number): string => `${producer}-${seq}`
