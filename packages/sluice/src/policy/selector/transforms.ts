import { sha256 } from '../../core/sha256.ts'
import { subnetOf } from './subnet.ts'

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
