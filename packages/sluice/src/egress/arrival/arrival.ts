import type { CompiledUpstream } from '../../policy/upstream/upstream.ts'

/** What a sender may have on its way before the first acknowledgement: ten segments. */
const flightBytes = 14_000
/** A receiver's window may be no larger, and then the rest waits for its reader. */
const mostBytes = 64 * 1024
/** For the receiver's and our own scheduling. */
const slackMs = 5

export interface ArrivalAbout {
  /** Bytes of head and body; undefined for a body that is sent as it comes. */
  readonly bytes: number | undefined
  /** The longest handshake; undefined where none was seen. */
  readonly roundTripMs: number | undefined
  /** What refusals have widened it to, for all processes; 0 if nothing has. */
  readonly widenedMs: number
}

/**
 * How long after the last byte was handed to the kernel a request may still be on its way; undefined where only its
 * response proves that it arrived. Under `auto`, a request of n flights takes at most n round trips:
 *
 *     n * longest handshake + 5 ms, at least a fortieth of the shortest period, at most a quarter of it
 *
 * A quarter is also where it stops to be worth it: the rate is `amount / (period + arrival)`.
 */
export function arrivalMs(upstream: CompiledUpstream, about: ArrivalAbout): number | undefined {
  if (typeof upstream.arrival === 'number') return upstream.arrival
  const { bytes, roundTripMs, widenedMs } = about
  const periodMs = shortestPeriodMs(upstream)
  if (upstream.arrival === 'response' || periodMs === Infinity) return undefined
  if (bytes === undefined || bytes > mostBytes || roundTripMs === undefined) return undefined
  const flights = Math.max(1, Math.ceil(Math.log2(1 + bytes / flightBytes)))
  const onTheWayMs = flights * roundTripMs + slackMs
  const longestMs = longestArrivalMs(upstream)
  return onTheWayMs > longestMs ? undefined : Math.min(longestMs, Math.max(onTheWayMs, periodMs / 40, widenedMs))
}

/** The most that a request is on its way, if it is not its response that proves it. */
export function longestArrivalMs(upstream: CompiledUpstream): number {
  const { arrival, timeoutMs } = upstream
  if (typeof arrival === 'number') return arrival
  return arrival === 'response' ? timeoutMs : Math.ceil(Math.min(timeoutMs, shortestPeriodMs(upstream)) / 4)
}

/** Infinity where only calls in flight are limited. */
function shortestPeriodMs({ limits }: CompiledUpstream): number {
  return Math.min(...limits.map(({ periodMs }) => (periodMs > 0 ? periodMs : Infinity)))
}
