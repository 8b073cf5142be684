import type { State } from '../../core/algorithms/state.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import { maxPlainLimits } from './limit-codec.ts'
import { constants } from './scripts.gen.ts'

/** For subjects of which one ask is decided, and that need not be remembered for another. */
export const passingState: State = { n: new Float64Array(2 * maxPlainLimits), at: 0, extra: undefined }

/**
 * Reads a stored subject (see `lua/state.lua`) into `n`. Returns false when it is anything but the limits of this set.
 */
export function readPlain(reader: MsgpackReader, set: LimitSet, n: Float64Array, clockUs: number): boolean {
  const { tags, limits, fields, paced } = set
  const type = reader.byte()
  if (type === nil) {
    for (let i = 0; i < fields; i++) n[i] = 0
    return true
  }
  if (type !== constants.EMPTY_ARRAY + 1 + limits.length + fields) return false
  const baseUs = reader.read() as number
  if (!(baseUs <= clockUs)) return false
  const baseMs = Math.floor(baseUs / 1000)
  for (let i = 0; i < 2 * limits.length; i += 2) {
    if (reader.read() !== tags[i >> 1]) return false
    const age = reader.read() as number
    n[i] = age === -1 ? 0 : baseMs - age
    n[i + 1] = reader.read() as number
    if (paced && i === 2) for (let f = 4; f < fields; f++) n[f] = reader.read() as number
  }
  return true
}

const nil = 0xc0
