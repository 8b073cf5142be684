/** A file's contents, as programs see them and as they are on the disk. */
export interface Inode {
  data: Buffer
  durable: Buffer
  modifiedMs: number
  write(bytes: Buffer, position: number): void
  truncate(length: number): void
  /** Writes what was changed to the disk. */
  sync(): void
  /** Takes what was changed for written, although it was not. */
  forget(): void
  copy(): Inode
  /** What a power cut leaves: only what was synced, or with `random` any part of the rest too. */
  afterPowerCut(random: (() => number) | undefined): Inode
}

const sectorBytes = 512

export class ModelInode implements Inode {
  data: Buffer = Buffer.alloc(0)
  durable: Buffer = Buffer.alloc(0)
  modifiedMs: number = Date.now()
  /** Sectors that were changed and not synced. */
  readonly #dirty = new Set<number>()

  write(bytes: Buffer, position: number): void {
    const data = Buffer.alloc(Math.max(this.data.length, position + bytes.length))
    this.data.copy(data)
    bytes.copy(data, position)
    this.data = data
    this.modifiedMs = Date.now()
    const end = position + bytes.length
    for (let at = Math.floor(position / sectorBytes); at * sectorBytes < end; at++) this.#dirty.add(at)
  }

  truncate(length: number): void {
    this.data = Buffer.from(this.data.subarray(0, length))
  }

  sync(): void {
    const durable = Buffer.alloc(this.data.length)
    this.durable.copy(durable)
    for (const sector of this.#dirty) copySector(this.data, durable, sector)
    this.durable = durable
    this.#dirty.clear()
  }

  forget(): void {
    this.#dirty.clear()
  }

  copy(): Inode {
    const copy = new ModelInode()
    Object.assign(copy, { data: this.data, durable: this.durable, modifiedMs: this.modifiedMs })
    for (const sector of this.#dirty) copy.#dirty.add(sector)
    return copy
  }

  afterPowerCut(random: (() => number) | undefined): Inode {
    const survivor = new ModelInode()
    survivor.modifiedMs = this.modifiedMs
    survivor.data = Buffer.from(random === undefined ? this.durable : this.#torn(random))
    survivor.durable = survivor.data
    return survivor
  }

  #torn(random: () => number): Buffer {
    const { data, durable } = this
    const [short, long] = [Math.min(data.length, durable.length), Math.max(data.length, durable.length)]
    // The length is a matter of its own: it may be on the disk before what was appended.
    const result = Buffer.alloc(random() < 0.5 ? data.length : short + Math.floor(random() * (long - short + 1)))
    if (random() < 0.3) for (let at = short; at < result.length; at++) result[at] = random() * 256
    durable.copy(result)
    const dirty = [...this.#dirty]
    const torn = dirty[Math.floor(random() * dirty.length)]
    for (const sector of dirty) {
      if (sector === torn) copySector(data, result, sector, Math.floor(random() * (sectorBytes + 1)))
      else if (random() < 0.5) copySector(data, result, sector)
    }
    return result
  }
}

/** Copies the first bytes of a sector, as far as both have it. */
function copySector(from: Buffer, to: Buffer, sector: number, bytes: number = sectorBytes): void {
  const at = sector * sectorBytes
  if (at < Math.min(from.length, to.length)) from.copy(to, at, at, Math.min(from.length, at + bytes))
}
