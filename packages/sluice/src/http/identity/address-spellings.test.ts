import { isIP, isIPv4 } from 'node:net'
import { describe, expect, it } from 'vitest'
import { formatAddress, parseAddress } from '../../core/address.ts'
import { identity } from './identity.ts'

// 10^5 strings by default; SLUICE_FUZZ=1000000 npx vitest run packages/sluice/src/http/identity for the full number.
const runs = Number(process.env.SLUICE_FUZZ ?? 100_000)
const seed = Number(process.env.SLUICE_SEED ?? Math.floor(Math.random() * 2 ** 31))

function chance(from: number): (below: number) => number {
  let state = from
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}

/** An address as 16 bytes; IPv4 as its mapped form. */
type Bytes = readonly number[]

const mapped = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255]
const isV4 = (bytes: Bytes): boolean => mapped.every((byte, i) => bytes[i] === byte)

function anyAddress(below: (n: number) => number): Bytes {
  if (below(2) === 0) return [...mapped, below(256), below(256), below(3), below(3)]
  // Many zero groups, so that every way to leave them out is met.
  return Array.from({ length: 16 }, (_, i) => (below(3) > 0 && i > 0 ? 0 : below(256)))
}

function neighbour(bytes: Bytes, below: (n: number) => number): Bytes {
  if (below(2) === 0) return bytes
  const at = below(128)
  return bytes.map((byte, i) => (i === at >> 3 ? byte ^ (1 << (at & 7)) : byte))
}

/** One of the many ways to write an address. */
function spell(bytes: Bytes, below: (n: number) => number): string {
  const v4 = bytes.slice(12).join('.')
  if (isV4(bytes) && below(2) === 0) return below(3) === 0 ? `${v4}:${below(65_536)}` : v4
  const groups = Array.from({ length: 8 }, (_, i) => ((bytes[i * 2] ?? 0) << 8) | (bytes[i * 2 + 1] ?? 0))
  const texts = groups.map((group) => {
    const text = group.toString(16).padStart(1 + below(4), '0')
    return below(2) === 0 ? text.toUpperCase() : text
  })
  if (below(3) === 0) texts.splice(6, 2, v4)
  const zeros = groups.flatMap((group, i) => (group === 0 && i < texts.length && i < 6 ? [i] : []))
  let text = texts.join(':')
  const from = zeros[below(Math.max(1, zeros.length))]
  if (from !== undefined && below(2) === 0) {
    let to = from + 1
    while (zeros.includes(to) && below(3) > 0) to++
    text = `${texts.slice(0, from).join(':')}::${texts.slice(to).join(':')}`
  }
  if (below(4) === 0) text += ['%eth0', '%1', '%25en0'][below(3)]
  if (below(3) === 0) text = below(2) === 0 ? `[${text}]` : `[${text}]:${below(65_536)}`
  return text
}

describe(`over ${runs} spellings (SLUICE_SEED=${seed})`, () => {
  it('the same address has the same key, and different addresses have different keys', () => {
    const below = chance(seed)
    const exactly = identity({ ipv6Prefix: 128 })
    const byBlock = identity()
    for (let run = 0; run < runs / 2; run++) {
      const one = anyAddress(below)
      const other = neighbour(one, below)
      const [textOne, textOther] = [spell(one, below), spell(other, below)]
      const isSame = one.every((byte, i) => other[i] === byte)
      const inOneBlock = isV4(one) || isV4(other) ? isSame : one.slice(0, 8).every((byte, i) => other[i] === byte)
      const told = exactly(textOne, {}) === exactly(textOther, {})
      const toldByBlock = byBlock(textOne, {}) === byBlock(textOther, {})
      if (told !== isSame || toldByBlock !== inOneBlock || exactly(textOne, {}) === undefined) {
        expect.fail(`${textOne} and ${textOther}: ${exactly(textOne, {})} and ${exactly(textOther, {})}`)
      }
    }
  })

  it('reads an address exactly where Node does, and writes it as URLs do', () => {
    const below = chance(seed + 1)
    const alphabet = '0123456789abcdefABCDEF::::....%[]g -/'
    for (let run = 0; run < runs / 2; run++) {
      const text = spell(anyAddress(below), below).replace(/[[\]%].*|:\d+$/g, '')
      const at = below(text.length + 1)
      const mutated = text.slice(0, at) + (alphabet[below(alphabet.length)] ?? '') + text.slice(at + below(3))
      // A port or a bracket is not part of an address for Node.
      if (/[[\]%]|^[^:]*:\d{0,5}$/.test(mutated)) continue
      const address = parseAddress(mutated)
      if ((address !== undefined) !== (isIP(mutated) !== 0)) expect.fail(`${mutated} is ${JSON.stringify(address)}`)
      if (address === undefined || isIPv4(mutated)) continue
      const canonical = new URL(`http://[${mutated}]`).hostname.slice(1, -1)
      const v4 = /^::ffff:([\da-f]+):([\da-f]+)$/
        .exec(canonical)
        ?.slice(1)
        .map((part) => Number.parseInt(part, 16))
      const expected = v4 ? `${v4[0]! >> 8}.${v4[0]! & 255}.${v4[1]! >> 8}.${v4[1]! & 255}` : canonical
      if (formatAddress(address, 128) !== expected) expect.fail(`${mutated}: ${formatAddress(address, 128)}`)
    }
  })
})
