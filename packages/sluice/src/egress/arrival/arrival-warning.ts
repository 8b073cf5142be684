import type { CompiledUpstream } from '../../policy/upstream/upstream.ts'

/** This machine and its link: what answers there is often a sidecar or a relay, and the vendor is behind it. */
const nearby = /^https?:\/\/(localhost|127\.|169\.254\.|\[::1\]|\[fe80:)/i

/** Why `arrival: auto` may not know the way to the vendor; undefined if nothing speaks for that. */
export function arrivalWarning(
  { name, origin, arrival }: CompiledUpstream,
  hasOwnDispatcher: boolean,
  roundTripMs: number | undefined,
  leastFirstByteMs: number,
): string | undefined {
  if (arrival !== 'auto' || origin === '') return undefined
  const remedy = 'state arrival as a duration'
  if (hasOwnDispatcher)
    return `The connections of the upstream ${name} belong to a dispatcher, so only responses show when calls arrived; ${remedy}.`
  const isRelay = nearby.test(origin) && roundTripMs !== undefined && roundTripMs < 1
  if (!isRelay || leastFirstByteMs === Infinity || leastFirstByteMs < 10 * Math.max(roundTripMs, 1)) return undefined
  return `The upstream ${name} is on this machine and answers slowly; if it passes calls on to a vendor, ${remedy}.`
}
