/**
 * The network an address is in: /24 for IPv4 and /64 for IPv6 unless said otherwise. What is no address is missing.
 *
 * @example subnetOf('192.0.2.77', 24, 64) // '192.0.2.0/24'
 */
export function subnetOf(address: string, bits4: number, bits6: number): string | undefined {
  if (address.length > 64) return undefined
  const bare = address.replace(/\/\d{1,3}$/, '').replace(/%.*$/, '')
  const four = parse4(bare)
  if (four) return `${masked(four, 8, bits4).join('.')}/${bits4}`
  const six = parse6(bare)
  if (!six) return undefined
  // ::ffff:1.2.3.4 is 1.2.3.4.
  if (six.slice(0, 5).every((group) => group === 0) && six[5] === 0xffff) {
    return subnetOf([six[6]! >> 8, six[6]! & 255, six[7]! >> 8, six[7]! & 255].join('.'), bits4, bits6)
  }
  return `${masked(six, 16, bits6)
    .map((group) => group.toString(16))
    .join(':')}/${bits6}`
}

function masked(groups: readonly number[], width: number, bits: number): number[] {
  return groups.map((group, index) => {
    const keep = Math.min(width, Math.max(0, bits - index * width))
    return group & ~((1 << (width - keep)) - 1)
  })
}

function parse4(text: string): number[] | undefined {
  const found = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  const bytes = found?.slice(1).map(Number)
  return bytes?.every((byte) => byte <= 255) ? bytes : undefined
}

function parse6(text: string): number[] | undefined {
  const halves = text.split('::')
  if (halves.length > 2 || !text.includes(':')) return undefined
  const [head, tail] = halves.map(groupsOf)
  if (!head || (halves.length === 2 && !tail)) return undefined
  if (!tail) return head.length === 8 ? head : undefined
  const gap = 8 - head.length - tail.length
  return gap >= 1 ? [...head, ...Array<number>(gap).fill(0), ...tail] : undefined
}

function groupsOf(text: string): number[] | undefined {
  if (text === '') return []
  const groups: number[] = []
  for (const piece of text.split(':')) {
    const four = parse4(piece)
    if (four) groups.push((four[0]! << 8) | four[1]!, (four[2]! << 8) | four[3]!)
    else if (/^[0-9a-f]{1,4}$/i.test(piece)) groups.push(Number.parseInt(piece, 16))
    else return undefined
  }
  return groups
}
