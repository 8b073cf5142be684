import type { buildConnector } from 'undici'
import { RecentOutputs } from '../admission/usage/recent-outputs.ts'
import { Circuit, type Pass } from '../breaker/circuit.ts'
import { failuresInARow } from '../breaker/strategy.ts'
import type { Clock } from '../core/clock.ts'
import type { CompiledUpstream } from '../policy/upstream/upstream.ts'
import { Deadlines } from '../runtime/deadlines.ts'
import { BookingClient } from './booking/booking-client.ts'
import type { BookingPort, BookingRules, Units } from './booking/messages.ts'
import { type Cost, unitsOf, warnOfUnits } from './call/units.ts'
import { arrivalMs, Handshakes, longestArrivalMs } from './connection/arrival.ts'
import { Connections, spareConnections } from './connection/connections.ts'
import type { Undici } from './connection/load-undici.ts'
import type { UpstreamHooks } from './options.ts'
import type { UpstreamReports } from './upstream-reports.ts'

/** What all upstreams of one egress share. */
export interface SharedOptions {
  readonly undici: Undici
  readonly clock: Clock
  readonly port: BookingPort
  /** A name in shared state that nobody had before. */
  readonly newOwner: () => string
  /** How connections are opened. */
  readonly connect: buildConnector.connector
  readonly deadlineMs: number
  readonly replicas: number | undefined
  readonly random: () => number
}

/** When to ask again while a probe of the breaker is in flight. */
const probeMs = 1000

/** One upstream in this process: its settings, which follow the policy, its booking and its connections. */
export class UpstreamRuntime {
  readonly name: string
  readonly undici: Undici
  readonly clock: Clock
  readonly random: () => number
  readonly reports: UpstreamReports
  readonly hooks: UpstreamHooks
  /** When requests that were written are given up. */
  readonly timeouts: Deadlines
  /** How long the answers of its models were, where it is a language model. */
  readonly outputs: RecentOutputs = new RecentOutputs()
  readonly #options: SharedOptions
  readonly #handshakes = new Handshakes()
  readonly #warnOfUnits: ReturnType<typeof warnOfUnits>
  #upstream: CompiledUpstream
  #rules: BookingRules
  #plainUnits: Units | undefined
  #circuit: Circuit | undefined
  #connections: Connections
  #booking: BookingClient

  constructor(upstream: CompiledUpstream, options: SharedOptions, reports: UpstreamReports, hooks: UpstreamHooks) {
    this.name = upstream.name
    this.undici = options.undici
    this.clock = options.clock
    this.random = options.random
    this.reports = reports
    this.hooks = hooks
    this.timeouts = new Deadlines(options.clock)
    this.#options = options
    this.#warnOfUnits = warnOfUnits(upstream.name)
    this.#upstream = upstream
    this.#rules = rulesOf(upstream)
    this.#plainUnits = plainUnitsOf(upstream)
    this.#circuit = circuitOf(upstream)
    this.#connections = this.#newConnections()
    this.#booking = this.#newBooking()
  }

  get booking(): BookingClient {
    return this.#booking
  }

  get upstream(): CompiledUpstream {
    return this.#upstream
  }

  get connections(): Connections {
    return this.#connections
  }

  /** How long a handshake with the vendor takes; undefined while none was seen. */
  get roundTripMs(): number | undefined {
    return this.#handshakes.roundTripMs(this.clock.monotonic())
  }

  /**
   * How long a request of this size may be on its way; undefined where only its response proves that it arrived.
   * `bytes` is undefined where that is not known, or where another dispatcher has the connection.
   */
  arrivalMs(bytes: number | undefined): number | undefined {
    if (bytes === undefined && typeof this.#upstream.arrival !== 'number') return undefined
    return arrivalMs(this.#upstream, { bytes, roundTripMs: this.roundTripMs, widenedMs: this.#booking.widenedMs })
  }

  /** The most that `arrivalMs` will answer for a request of about this size. */
  longestArrivalMs(bytes: number | undefined): number | undefined {
    return this.arrivalMs(bytes) === undefined ? undefined : this.#rules.arrivalMs
  }

  /** Whether a limit counts something other than requests, so that costs matter. */
  get countsUnits(): boolean {
    return this.#plainUnits === undefined
  }

  /** A cost that the app gives, which is warned of if it is in units that no limit counts. */
  givenCost<Given extends Cost | undefined>(cost: Given): Given {
    this.#warnOfUnits(cost, this.#upstream.limits)
    return cost
  }

  /** What a call occupies of each limit. Where only requests are counted, that is the same for all. */
  unitsOf(cost: Cost | undefined): Units {
    return this.#plainUnits ?? unitsOf(this.#upstream.limits, cost)
  }

  /** The breaker's pass for one call; undefined while it is open. */
  enterBreaker(): Pass | undefined {
    return this.#circuit === undefined ? 0 : this.#circuit.enter(this.clock.monotonic())
  }

  /** For how much longer the breaker stays open; how long a probe in flight takes is not known. */
  get breakerOpenMs(): number {
    return Math.ceil(this.#circuit?.retryAfterMs(this.clock.monotonic()) ?? 0) || probeMs
  }

  leaveBreaker(pass: Pass | undefined, outcome: 'succeeded' | 'failed' | 'cancelled'): void {
    if (pass === undefined || this.#circuit === undefined) return
    if (outcome === 'cancelled') this.#circuit.cancelled(pass)
    else this.#circuit[outcome](pass, this.clock.monotonic())
  }

  /** Another version of the policy is in force. */
  update(upstream: CompiledUpstream): void {
    const { failures, cooldownMs } = this.#upstream.breaker ?? {}
    if (upstream.breaker?.failures !== failures || upstream.breaker?.cooldownMs !== cooldownMs)
      this.#circuit = circuitOf(upstream)
    const { origin, account } = this.#upstream
    this.#upstream = upstream
    this.#rules = rulesOf(upstream)
    this.#plainUnits = plainUnitsOf(upstream)
    if (origin !== upstream.origin) {
      const former = this.#connections
      this.#connections = this.#newConnections()
      void former.close()
    }
    if (account === upstream.account) return
    void this.#booking.close()
    this.#booking = this.#newBooking()
  }

  #newConnections(): Connections {
    return new Connections({
      ...this.#options,
      origin: this.#upstream.origin,
      handshakes: this.#handshakes,
      spare: () => spareConnections(this.#upstream.limits, this.roundTripMs ?? 0),
    })
  }

  /** Each client is an owner of its own in shared state: calls of the one before it may still be in flight. */
  #newBooking(): BookingClient {
    const { name, account } = this.#upstream
    return new BookingClient({
      ...this.#options,
      upstream: name,
      state: account === undefined ? name : `@${account}`,
      owner: this.#options.newOwner(),
      rules: () => this.#rules,
      onStoreFailure: () => this.#upstream.onStoreFailure,
      onFailure: (error) => this.reports.emit('storeFailed', { error }),
      onSlowed: (by, ms) => this.reports.emit(by, { ms }),
    })
  }
}

/** Undefined where costs matter. */
function plainUnitsOf({ limits }: CompiledUpstream): Units | undefined {
  return limits.every(({ unit }) => unit === 'requests') ? unitsOf(limits, undefined) : undefined
}

function circuitOf({ breaker }: CompiledUpstream): Circuit | undefined {
  if (breaker === undefined) return undefined
  return new Circuit({ strategy: failuresInARow(breaker.failures), cooldownMs: () => breaker.cooldownMs })
}

function rulesOf(upstream: CompiledUpstream): BookingRules {
  const { limits, maxQueue, maxQueuePerTenant, timeoutMs, retry, afterLoss } = upstream
  return {
    limits: limits.map(({ key, amount, periodMs }) => ({ key, amount, periodMs })),
    maxQueue,
    maxQueuePerTenant: maxQueuePerTenant ?? -1,
    arrivalMs: longestArrivalMs(upstream),
    timeoutMs,
    afterLoss,
    retryPerCall: Math.round((retry?.budgetPercent ?? 0) * 10),
    retryPerSecond: Math.round((retry?.floorPerSecond ?? 0) * 1000),
  }
}
