import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { codeOf, type FileSystem, type OpenFile, quietly, readWhole, writeAll } from '../files/file-system.ts'
import type { Position } from './segment/stored-event.ts'

/** What is already shipped: positions in segments that still exist, and the next number of each producer. */
export interface Checkpoint {
  readonly positions: Readonly<Record<string, Position>>
  readonly expected: Readonly<Record<string, number>>
  readonly gaps: readonly Gap[]
}

/** Numbers of a producer that were missing when later ones were shipped: their segment may have been moved away. */
export type Gap = readonly [producer: string, from: number, to: number]

/**
 * Each slot has this size from the start, so that writing it needs no new space, also on a full disk. Both together are
 * well below the reserve: a process that starts on a full disk has only the reserve to use.
 */
const slotBytes = 64 * 1024
const maxSlotBytes = 64 << 20
/** Producers remembered at most; without it a directory used by short-lived processes would fill the slot. */
export const maxProducers = 500
/** Likewise. */
export const maxGaps = 100

const pattern = /^checkpoint-(\d{12})-[01]$/
const fileOf = (epoch: number, slot: number): string => `checkpoint-${String(epoch).padStart(12, '0')}-${slot}`

/** Empty files: what matters of a checkpoint that has no space, in their names. */
const notePattern = /^shipped-([0-9a-f]{24})-(\d+)$/
const noteOf = (producer: string, seq: number): string => `shipped-${producer}-${seq}`

interface Slot extends Checkpoint {
  readonly epoch: number
  readonly generation: number
}

function encode(slot: Slot): Buffer {
  const json = Buffer.from(JSON.stringify(slot))
  const bytes = Buffer.alloc(json.length + 8)
  bytes.writeUInt32LE(json.length, 4)
  json.copy(bytes, 8)
  bytes.writeUInt32LE(crc32(bytes.subarray(4, 8 + json.length)), 0)
  return bytes
}

function decode(bytes: Buffer | undefined): Slot | undefined {
  if (bytes === undefined || bytes.length < 8) return undefined
  const end = 8 + bytes.readUInt32LE(4)
  if (end > bytes.length || crc32(bytes.subarray(4, end)) !== bytes.readUInt32LE(0)) return undefined
  try {
    return JSON.parse(bytes.toString('utf8', 8, end)) as Slot
  } catch {
    return undefined
  }
}

/** What a process or a machine is short of for a moment: the file itself is as good as before. */
const passing = ['EMFILE', 'ENFILE', 'ENOMEM', 'EAGAIN', 'EBUSY', 'ENOSPC']

/**
 * Reads a slot. The other slot is older: to go on with that would send again what was shipped, and report segments that
 * were removed since as lost. So an error that passes is thrown, and one of the disk has to come three times.
 */
async function readSlot(fs: FileSystem, path: string): Promise<Slot | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return decode(await readWhole(fs, path, maxSlotBytes))
    } catch (error) {
      if (passing.includes(codeOf(error))) throw error
      if (attempt === 3) return undefined
    }
  }
}

/**
 * The newest valid checkpoint of a directory. Without one everything is shipped again: duplicates, but never a loss.
 */
export async function readCheckpoint(fs: FileSystem, dir: string, files: readonly string[]): Promise<Checkpoint> {
  let newest: Slot | undefined
  for (const file of files.filter((name) => pattern.test(name))) {
    const slot = await readSlot(fs, join(dir, file))
    if (slot === undefined) continue
    const [a, b] = [slot, newest ?? { epoch: 0, generation: 0 }]
    if (a.epoch > b.epoch || (a.epoch === b.epoch && a.generation > b.generation)) newest = slot
  }
  const expected = { ...newest?.expected }
  for (const [, producer, seq] of files.map((file) => notePattern.exec(file) ?? [])) {
    if (producer !== undefined) expected[producer] = Math.max(Number(seq), expected[producer] ?? 0)
  }
  return { positions: newest?.positions ?? {}, expected, gaps: newest?.gaps ?? [] }
}

/**
 * Writes checkpoints of one owner, alternating between two slots: a crash while one is written leaves the other. The
 * slots carry the epoch in their names, so a former owner that wakes up cannot overwrite those of its successor.
 */
export class CheckpointFile {
  readonly #fs: FileSystem
  readonly #dir: string
  readonly #epoch: number
  readonly #slots: (OpenFile | undefined)[] = [undefined, undefined]
  #generation = 0
  #cleared = false

  constructor(fs: FileSystem, dir: string, epoch: number) {
    this.#fs = fs
    this.#dir = dir
    this.#epoch = epoch
  }

  /** Durable when it resolves. */
  async write(checkpoint: Checkpoint): Promise<void> {
    const generation = this.#generation + 1
    const index = generation % 2
    const bytes = encode({ ...checkpoint, epoch: this.#epoch, generation })
    let slot = this.#slots[index]
    const isNew = slot === undefined
    slot ??= await this.#open(fileOf(this.#epoch, index))
    try {
      const padding = isNew && bytes.length < slotBytes ? [Buffer.alloc(slotBytes - bytes.length, 0x20)] : []
      await writeAll(slot, [bytes, ...padding], 0)
      await slot.datasync()
      if (isNew) await this.#fs.syncDir(this.#dir)
      this.#slots[index] = slot
      // Only now: after a failure the next write must not go to the other slot, which is then the only valid one.
      this.#generation = generation
    } catch (error) {
      // After a failed sync this file is not used again in this process; the other slot holds what was confirmed last.
      this.#slots[index] = undefined
      await quietly(slot.close())
      await quietly(this.#fs.remove(join(this.#dir, fileOf(this.#epoch, index))))
      throw error
    }
    if (!this.#cleared) await this.#removeOlder()
  }

  /**
   * Notes the next numbers of these producers where there is no space for a checkpoint: a name needs almost none.
   * Without it, segments that are removed to make space would be reported as lost after a crash. It is worth a try
   * only: those segments must be removed in any case.
   */
  async note(producers: Iterable<string>, expected: Checkpoint['expected']): Promise<void> {
    this.#cleared = false
    for (const producer of new Set(producers)) {
      const path = join(this.#dir, noteOf(producer, expected[producer] ?? 0))
      await quietly(this.#fs.open(path, 'create').then((file) => file.close()))
    }
    await quietly(this.#fs.syncDir(this.#dir))
  }

  async close(): Promise<void> {
    for (const slot of this.#slots) if (slot !== undefined) await quietly(slot.close())
  }

  async #open(file: string): Promise<OpenFile> {
    const path = join(this.#dir, file)
    try {
      return await this.#fs.open(path, 'create')
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error
      await this.#fs.remove(path)
      return await this.#fs.open(path, 'create')
    }
  }

  /** Removes what the checkpoint that was just written replaces. */
  async #removeOlder(): Promise<void> {
    this.#cleared = true
    for (const file of await this.#fs.list(this.#dir)) {
      const epoch = Number(pattern.exec(file)?.[1] ?? this.#epoch)
      if (epoch < this.#epoch || notePattern.test(file)) await quietly(this.#fs.remove(join(this.#dir, file)))
    }
  }
}
