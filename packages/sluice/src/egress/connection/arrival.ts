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

const slotMs = 60_000
const slots = 10

/**
 * How long a packet and its answer take to an origin and back, from the handshakes of its connections. Each minute
 * counts with its shortest handshake, since what makes the others of that minute longer is mostly this process, which
 * reads their answers late when it opens many at a time; of the last ten minutes the longest counts.
 */
export class Handshakes {
  readonly #slots: { readonly slot: number; ms: number }[] = []

  /** A handshake took `ms` and was over at `nowMs` of the monotonic clock. */
  add(ms: number, nowMs: number): void {
    const slot = Math.floor(nowMs / slotMs)
    const last = this.#slots.at(-1)
    if (last?.slot === slot) last.ms = Math.min(last.ms, ms)
    else {
      this.#slots.push({ slot, ms })
      // The latest stays however old it is: connections that are kept open need no new handshakes.
      if (this.#slots.length > slots) this.#slots.shift()
    }
  }

  /** Undefined before the first handshake. */
  roundTripMs(nowMs: number): number | undefined {
    const oldest = Math.floor(nowMs / slotMs) - slots
    while (this.#slots.length > 1 && this.#slots[0]!.slot <= oldest) this.#slots.shift()
    return this.#slots.length === 0 ? undefined : Math.max(...this.#slots.map(({ ms }) => ms))
  }
}
