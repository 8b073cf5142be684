import { silenceUs } from '../../booking/capacity.ts'
import type { Exchange } from '../../booking/messages.ts'
import { advance } from '../../booking/shared-time.ts'
import { newState, type UpstreamState } from '../../booking/state.ts'

/** What another server goes on with: what it has copied of a state. `exchange.lua` does the same. */
export function takenOver(copy: UpstreamState, marker: string, asked: Exchange, rawUs: number): UpstreamState {
  const { time, owners, grants, logs, pauses } = structuredClone(copy)
  const copiedUs = time.timeUs
  for (const owner of owners.values()) owner.isGone = true
  for (const log of logs.values()) log.mirroredUs = copiedUs
  const state = { ...newState(rawUs, marker), time, owners, grants, logs, pauses }
  advance(state, asked, rawUs)
  return { ...state, startUs: time.timeUs, openUs: time.verifiedUs + silenceUs(asked.rules) }
}
