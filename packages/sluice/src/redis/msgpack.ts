/** The values that states and replies consist of. */
export type Packed = number | string | boolean | null | Packed[]

/** Reads MessagePack values one after the other; only the types that Redis' `cmsgpack` writes for our data. */
export class MsgpackReader {
  readonly #bytes: Buffer
  /** Where the next value starts. */
  at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  /** Reads the first byte of a value, which encodes its type. */
  byte(): number | undefined {
    return this.#bytes[this.at++]
  }

  /** Reads a text as bytes, without copying them; null for nil. */
  bytes(): Buffer | null {
    const type = this.#bytes[this.at++]
    if (type === 0xc0) return null
    const length = type === undefined ? undefined : this.#textLength(type)
    if (length === undefined) throw new TypeError(`MessagePack type ${type} is not expected here`)
    const at = this.#skip(length)
    if (this.at > this.#bytes.length) throw new RangeError('MessagePack ends too early')
    return this.#bytes.subarray(at, at + length)
  }

  /** What is read from. */
  get source(): Buffer {
    return this.#bytes
  }

  /** Passes over bytes that a script appended after its values, and returns where in `source` they start. */
  pass(length: number): number {
    const at = this.#skip(length)
    if (this.at > this.#bytes.length) throw new RangeError('the reply ends too early')
    return at
  }

  read(): Packed {
    const bytes = this.#bytes
    const type = bytes[this.at++]
    if (type === undefined) throw new RangeError('MessagePack ends too early')
    if (type < 0x80) return type
    if (type < 0x90) throw new TypeError('MessagePack maps are not expected here')
    if (type < 0xa0) return this.#array(type & 0x0f)
    if (type < 0xc0) return this.#text(type & 0x1f)
    if (type >= 0xe0) return type - 0x100
    switch (type) {
      case 0xc0:
        return null
      case 0xc2:
        return false
      case 0xc3:
        return true
      case 0xcb:
        return bytes.readDoubleBE(this.#skip(8))
      case 0xcc:
        return bytes[this.#skip(1)]!
      case 0xcd:
        return bytes.readUInt16BE(this.#skip(2))
      case 0xce:
        return bytes.readUInt32BE(this.#skip(4))
      case 0xcf:
        return bytes.readUInt32BE(this.#skip(4)) * 0x100000000 + bytes.readUInt32BE(this.#skip(4))
      case 0xd0:
        return bytes.readInt8(this.#skip(1))
      case 0xd1:
        return bytes.readInt16BE(this.#skip(2))
      case 0xd2:
        return bytes.readInt32BE(this.#skip(4))
      case 0xd3:
        return bytes.readInt32BE(this.#skip(4)) * 0x100000000 + bytes.readUInt32BE(this.#skip(4))
      case 0xd9:
      case 0xda:
      case 0xdb:
        return this.#text(this.#textLength(type)!)
      case 0xdc:
        return this.#array(bytes.readUInt16BE(this.#skip(2)))
      case 0xdd:
        return this.#array(bytes.readUInt32BE(this.#skip(4)))
      default:
        throw new TypeError(`MessagePack type ${type} is not expected here`)
    }
  }

  /** The length of a text, of whose type only the first byte was read; undefined when it is no text. */
  #textLength(type: number): number | undefined {
    if (type >= 0xa0 && type < 0xc0) return type & 0x1f
    if (type === 0xd9) return this.#bytes[this.#skip(1)]
    if (type === 0xda) return this.#bytes.readUInt16BE(this.#skip(2))
    return type === 0xdb ? this.#bytes.readUInt32BE(this.#skip(4)) : undefined
  }

  #skip(length: number): number {
    const at = this.at
    this.at += length
    return at
  }

  #text(length: number): string {
    const at = this.#skip(length)
    return this.#bytes.toString('utf8', at, at + length)
  }

  #array(length: number): Packed[] {
    const values: Packed[] = []
    for (let i = 0; i < length; i++) values.push(this.read())
    return values
  }
}
