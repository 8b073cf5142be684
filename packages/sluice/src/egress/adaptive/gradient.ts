import type { AdaptiveConcurrency } from '../../policy/upstream/upstream.ts'

/** How many calls may be in flight, and which latency counts as normal. */
export interface Gradient {
  readonly limit: number
  /** Latency without a queue at the vendor, as the last probe found it. */
  readonly normalMs: number
  /**
   * Calls to skip before the next round, because they were sent under the previous limit; then those of the round so
   * far.
   */
  readonly skip: number
  readonly count: number
  readonly sumMs: number
  /** How many more calls belong to the phase, and the least latency seen in it. */
  readonly left: number
  readonly leastMs: number
  readonly isProbing: boolean
}

const leastRound = 10
/** Latency may grow by so much before it counts as a queue at the vendor. */
const tolerance = 1.25
/** Between two probes, and in one. */
const regularCalls = 1000
const probeCalls = 100

export function newGradient(bounds: AdaptiveConcurrency): Gradient {
  const limit = within(bounds.initial, bounds)
  return { limit, normalMs: 0, skip: 0, count: 0, sumMs: 0, left: probeCalls, leastMs: Infinity, isProbing: true }
}

/** While it probes, half as many calls are let through: then there is no queue, and latency is the normal one. */
export function limitOf({ limit, isProbing }: Gradient, bounds: AdaptiveConcurrency): number {
  return Math.floor(within(isProbing ? limit / 2 : limit, bounds))
}

/**
 * Follows latency, one round of calls at a time. When calls take longer than normal, they queue at the vendor, and the
 * limit shrinks in proportion. When they do not, it grows, but only while it is used. An average of latency as the
 * normal value would drift upward with the queue that it allows, so the normal latency is measured again from time to
 * time.
 */
export function afterLatency(
  state: Gradient,
  latencyMs: number,
  inFlight: number,
  bounds: AdaptiveConcurrency,
): Gradient {
  const seen = { ...state, left: state.left - 1, leastMs: Math.min(state.leastMs, latencyMs) }
  if (state.isProbing) return seen.left > 0 ? seen : { ...regular(seen, inFlight), normalMs: seen.leastMs }
  if (seen.skip > 0) return { ...seen, skip: seen.skip - 1 }
  const round = { ...seen, count: seen.count + 1, sumMs: seen.sumMs + latencyMs }
  if (round.count < Math.max(leastRound, round.limit)) return round
  const limit = within(followed(round, inFlight), bounds)
  const next = { ...round, limit, skip: inFlight, count: 0, sumMs: 0 }
  return next.left > 0 ? next : { ...next, left: probeCalls + inFlight, leastMs: Infinity, isProbing: true }
}

function regular(state: Gradient, inFlight: number): Gradient {
  return { ...state, left: regularCalls, leastMs: Infinity, isProbing: false, skip: inFlight, count: 0, sumMs: 0 }
}

function followed({ limit, normalMs, sumMs, count }: Gradient, inFlight: number): number {
  const gradient = Math.max(0.5, Math.min(1, (tolerance * normalMs * count) / sumMs))
  if (gradient < 1) return limit * gradient
  return inFlight >= limit / 2 ? limit + Math.max(1, Math.sqrt(limit) / 2) : limit
}

/** A timeout or a refusal is a stronger sign than any latency: the limit is cut at once, never below the minimum. */
export function afterRefusal(state: Gradient, kind: 'timeout' | 'limited', bounds: AdaptiveConcurrency): Gradient {
  return { ...state, limit: within(state.limit * (kind === 'timeout' ? 0.9 : 0.5), bounds) }
}

const within = (limit: number, { min, max }: AdaptiveConcurrency): number => Math.min(max, Math.max(1, min, limit))
