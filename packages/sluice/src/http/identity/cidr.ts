import { type Address, groupMask, parseAddress } from '../../core/address.ts'
import { invalidOption } from '../../core/errors.ts'

/** A block of addresses. */
interface Block {
  readonly address: Address
  readonly prefix: number
}

/** Whether an address is in one of the blocks. */
export type InBlocks = (address: Address) => boolean

/** Reads blocks such as `10.0.0.0/8`, `fd00::/8` or a single address; every mistake names the option. */
export function parseBlocks(texts: readonly string[], option: string): InBlocks {
  const blocks = texts.map((text, i) => parseBlock(text, `${option}[${i}]`))
  return (address) => blocks.some((block) => contains(block, address))
}

function parseBlock(text: unknown, option: string): Block {
  const remedy = 'use a block in CIDR notation such as "10.0.0.0/8" or "fd00::/8", or one address'
  const [host = '', bits, ...rest] = typeof text === 'string' ? text.split('/') : []
  const address = /[[\]%]/.test(host) ? undefined : parseAddress(host)
  if (!address || rest.length > 0 || (bits !== undefined && !/^\d{1,3}$/.test(bits))) {
    throw invalidOption(option, text, remedy)
  }
  const isMapped = address.family === 4 && host.includes(':')
  const longest = address.family === 4 ? 32 : 128
  const prefix = bits === undefined ? longest : Number(bits) - (isMapped ? 96 : 0)
  if (prefix > longest || prefix < 0) throw invalidOption(option, text, remedy)
  if (prefix === 0) {
    throw invalidOption(
      option,
      text,
      'trusting every peer would let each client choose its own address; name the proxies',
    )
  }
  return { address, prefix }
}

function contains({ address, prefix }: Block, other: Address): boolean {
  if (address.family === 4) {
    return other.family === 4 && (address.value ^ other.value) >>> (32 - prefix) === 0
  }
  if (other.family === 4) return false
  for (let i = 0; i * 16 < prefix; i++) {
    if (((address.groups[i]! ^ other.groups[i]!) & groupMask(i, prefix)) !== 0) return false
  }
  return true
}
