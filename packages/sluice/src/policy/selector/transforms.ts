import { formatBlock, parseAddress } from '../../core/address.ts'
import { sha256 } from '../../core/sha256.ts'

/** Changes the text a selector read; undefined makes it missing. */
export type Transform = (text: string) => string | undefined

/** The names of the transforms, as they are written after `|`. */
export const transformNames: readonly string[] = ['lower', 'hash', 'subnet']

/** Finds a transform by how it is written: `lower`, `hash`, `subnet`, `subnet(24, 56)`. */
export function transformOf(text: string): Transform | undefined {
  if (text === 'lower') return (value) => value.toLowerCase()
  // Keeps secrets such as API keys out of the store, the metrics and the logs.
  if (text === 'hash') return sha256
  const subnet = /^subnet(?:\(\s*(\d{1,2})\s*,\s*(\d{1,3})\s*\))?$/.exec(text)
  if (!subnet) return undefined
  const bits4 = Number(subnet[1] ?? 24)
  const bits6 = Number(subnet[2] ?? 64)
  return bits4 <= 32 && bits6 <= 128 ? (value) => subnetOf(value, bits4, bits6) : undefined
}

/** The network an address, or a block of addresses, is in. What is neither is missing. */
function subnetOf(text: string, bits4: number, bits6: number): string | undefined {
  const address = parseAddress(text.replace(/\/\d{1,3}$/, ''))
  return address && formatBlock(address, bits4, bits6)
}
