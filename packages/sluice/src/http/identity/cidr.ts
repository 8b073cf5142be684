import { type Address, type Block, groupMask, parseBlock } from '../../core/address.ts'
import { invalidOption } from '../../core/errors.ts'

/** Whether an address is in one of the blocks. */
export type InBlocks = (address: Address) => boolean

/** Reads blocks such as `10.0.0.0/8`, `fd00::/8` or a single address; every mistake names the option. */
export function parseBlocks(texts: readonly string[], option: string): InBlocks {
  const blocks = texts.map((text, i) => trustedBlock(text, `${option}[${i}]`))
  return (address) => blocks.some((block) => contains(block, address))
}

function trustedBlock(text: unknown, option: string): Block {
  const block = typeof text === 'string' ? parseBlock(text) : undefined
  if (!block)
    throw invalidOption(option, text, 'use a block in CIDR notation such as "10.0.0.0/8" or "fd00::/8", or one address')
  if (block.prefix > 0) return block
  throw invalidOption(
    option,
    text,
    'trusting every peer would let each client choose its own address; name the proxies',
  )
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
