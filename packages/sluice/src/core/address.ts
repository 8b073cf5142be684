/** An address by its value, so that every spelling of it is the same. IPv4-mapped IPv6 addresses are IPv4. */
export type Address = { readonly family: 4; readonly value: number } | { readonly family: 6; readonly groups: Groups }

/** Eight numbers of 16 bits. */
export type Groups = readonly number[]

/** The longest spelling of an address: six groups, an IPv4 tail, brackets, a port, and a zone of some length. */
const maxSpelling = 128

const digit0 = 48
const dot = 46

/**
 * Reads an address as it is found in headers and on sockets: with or without a port, brackets or a zone. Everything
 * that is not exactly one address is `undefined`.
 *
 * @example parseAddress('[::ffff:192.0.2.1]:443') // { family: 4, value: 0xc0000201 }
 */
export function parseAddress(text: string): Address | undefined {
  const bare = withoutPort(text)
  if (bare === undefined) return undefined
  if (!bare.includes(':')) return parseIpv4(bare)
  const groups = parseIpv6(withoutZone(bare))
  return groups && unmapped(groups)
}

function unmapped(groups: Groups): Address {
  for (let i = 0; i < 5; i++) if (groups[i] !== 0) return { family: 6, groups }
  if (groups[5] !== 0xffff) return { family: 6, groups }
  return { family: 4, value: ((groups[6]! << 16) | groups[7]!) >>> 0 }
}

function withoutPort(text: string): string | undefined {
  if (text.length === 0 || text.length > maxSpelling) return undefined
  if (text.startsWith('[')) {
    const end = text.indexOf(']')
    // Only an IPv6 address is written in brackets.
    if (end < 0 || !isPort(text.slice(end + 1))) return undefined
    const inside = text.slice(1, end)
    return inside.includes(':') ? inside : undefined
  }
  const colon = text.indexOf(':')
  if (colon < 0 || text.includes(':', colon + 1)) return text
  return isPort(text.slice(colon)) ? text.slice(0, colon) : undefined
}

const isPort = (text: string): boolean => text === '' || /^:\d{1,5}$/.test(text)

/** A zone (`%eth0`) names an interface of this machine, not another address. */
function withoutZone(text: string): string {
  const percent = text.indexOf('%')
  return percent > 0 && percent < text.length - 1 ? text.slice(0, percent) : text
}

/** Four decimal numbers without leading zeros, which some parsers read as octal. */
function parseIpv4(text: string): Address | undefined {
  const value = ipv4Value(text)
  return value < 0 ? undefined : { family: 4, value }
}

function ipv4Value(text: string): number {
  let value = 0
  let part = -1
  let dots = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code === dot) {
      if (part < 0 || ++dots > 3) return -1
      value = value * 256 + part
      part = -1
    } else {
      const digit = code - digit0
      if (digit < 0 || digit > 9 || part === 0) return -1
      part = part < 0 ? digit : part * 10 + digit
      if (part > 255) return -1
    }
  }
  return dots === 3 && part >= 0 ? value * 256 + part : -1
}

function parseIpv6(text: string): Groups | undefined {
  const gap = text.indexOf('::')
  if (gap < 0) {
    const groups = readGroups(text, true)
    return groups?.length === 8 ? groups : undefined
  }
  if (text.includes('::', gap + 1)) return undefined
  const head = gap === 0 ? [] : readGroups(text.slice(0, gap), false)
  const tail = gap + 2 === text.length ? [] : readGroups(text.slice(gap + 2), true)
  if (!head || !tail) return undefined
  const missing = 8 - head.length - tail.length
  return missing < 1 ? undefined : [...head, ...new Array<number>(missing).fill(0), ...tail]
}

function readGroups(text: string, mayEndInIpv4: boolean): number[] | undefined {
  const parts = text.split(':')
  if (parts.length > 8) return undefined
  const groups: number[] = []
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i]!
    if (/^[\da-f]{1,4}$/i.test(part)) groups.push(Number.parseInt(part, 16))
    else {
      const value = mayEndInIpv4 && i === parts.length - 1 ? ipv4Value(part) : -1
      if (value < 0) return undefined
      groups.push(value >>> 16, value & 0xffff)
    }
  }
  return groups
}

/** A block of addresses; one address is a block of all its bits. */
export interface Block {
  readonly address: Address
  readonly prefix: number
}

/** Reads a block such as `10.0.0.0/8`, `fd00::/8` or a single address. */
export function parseBlock(text: string): Block | undefined {
  const [host = '', bits, ...rest] = text.split('/')
  const address = /[[\]%]/.test(host) ? undefined : parseAddress(host)
  if (!address || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) return undefined
  const isMapped = address.family === 4 && host.includes(':')
  const longest = address.family === 4 ? 32 : 128
  const prefix = bits === undefined ? longest : Number(bits) - (isMapped ? 96 : 0)
  return prefix > longest || prefix < 0 ? undefined : { address, prefix }
}

/**
 * The one spelling of an address, or of the block of `ipv6Prefix` bits an IPv6 address is in.
 *
 * @example formatAddress(parseAddress('2001:DB8::1')!, 64) // '2001:db8::/64'
 */
export function formatAddress(address: Address, ipv6Prefix: number): string {
  if (address.family === 4) return formatIpv4(address.value)
  return ipv6Prefix >= 128 ? formatGroups(address.groups) : formatBlock(address, 32, ipv6Prefix)
}

/**
 * The block of so many bits that an address is in.
 *
 * @example formatBlock(parseAddress('192.0.2.77')!, 24, 64) // '192.0.2.0/24'
 */
export function formatBlock(address: Address, ipv4Prefix: number, ipv6Prefix: number): string {
  if (address.family === 6)
    return `${formatGroups(address.groups.map((group, i) => group & groupMask(i, ipv6Prefix)))}/${ipv6Prefix}`
  const mask = ipv4Prefix === 0 ? 0 : -1 << (32 - ipv4Prefix)
  return `${formatIpv4(address.value & mask)}/${ipv4Prefix}`
}

/** The bits of group `i` that belong to the first `prefix` bits. */
export function groupMask(i: number, prefix: number): number {
  const bits = Math.min(16, Math.max(0, prefix - i * 16))
  return (0xffff << (16 - bits)) & 0xffff
}

function formatIpv4(value: number): string {
  return `${value >>> 24}.${(value >>> 16) & 255}.${(value >>> 8) & 255}.${value & 255}`
}

/** RFC 5952: lower case, no leading zeros, the longest run of two or more zero groups left out. */
function formatGroups(groups: Groups): string {
  let best = -1
  let bestLength = 1
  for (let start = 0; start < 8; start++) {
    let length = 0
    while (start + length < 8 && groups[start + length] === 0) length++
    if (length > bestLength) [best, bestLength] = [start, length]
  }
  const write = (from: number, to: number) => groups.slice(from, to).map(hex).join(':')
  return best < 0 ? write(0, 8) : `${write(0, best)}::${write(best + bestLength, 8)}`
}

const hex = (group: number): string => group.toString(16)
