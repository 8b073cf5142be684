import type { Timer } from '../../core/clock.ts'
import { parseDuration } from '../../core/duration.ts'
import type { Grant } from '../booking/grant.ts'
import type { BookingObserver } from '../booking/waiting-call.ts'
import type { Connection } from '../connection/connection.ts'
import type { Connections, ConnectionUser } from '../connection/connections.ts'
import type { CallOptions } from '../egress.ts'
import { RefusedError } from '../egress-error.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'
import { nameOf } from './call-context.ts'

/** A handshake that takes longer than this is not waited for with a grant in hand, which is valid for 500 ms. */
const longHandshakeMs = 250

/** Who waits for a turn. One of the methods is called each time it begins. */
export interface TurnUser {
  /** Its turn has come. There is a connection if it needs one. */
  granted(grant: Grant, connection: Connection | undefined): void
  /** With a `RefusedError`, which has been reported. */
  refused(error: Error): void
  unreachable(error: Error): void
  /** About how many bytes it sends; undefined where that is not known, or its connection is not ours. */
  readonly bytes: number | undefined
}

export interface TurnOptions {
  readonly runtime: UpstreamRuntime
  readonly options: CallOptions
  readonly tenant: string
  readonly scope: string
  readonly needsConnection: boolean
}

/**
 * The way of a call to its turn, for each attempt:
 *
 *     breaker -> a connection is ready -> booked -> granted -> has its connection
 */
export class Turn implements BookingObserver, ConnectionUser {
  readonly #about: TurnOptions
  readonly #user: TurnUser
  /** When it first asked for a grant: what came before is not part of its wait, nor of its position in the queue. */
  #arrivedMs: number | undefined
  #cost: CallOptions['cost']
  #attempts = 0
  #waitMs = 0
  #pass: number | undefined
  #giveUp: (() => void) | undefined
  #state: 'idle' | 'before' | 'booked' | 'granted' | 'retrying' = 'idle'
  #retryTimer: Timer | undefined
  #grant: Grant | undefined
  /** Those that it waits for; a vendor whose address has changed has others. */
  #connections: Connections | undefined

  constructor(about: TurnOptions, user: TurnUser) {
    this.#about = about
    this.#user = user
  }

  /** Attempts so far, this one included. */
  get attempts(): number {
    return this.#attempts
  }

  /** How long it waited for its last grant. */
  get waitMs(): number {
    return this.#waitMs
  }

  /** How much longer it may wait. */
  get #leftMs(): number {
    const nowMs = this.#about.runtime.clock.monotonic()
    return this.#maxWaitMs - (nowMs - (this.#arrivedMs ?? nowMs))
  }

  /** Begins an attempt. Throws if the cost makes no sense. */
  begin(cost?: CallOptions['cost']): void {
    const { runtime, tenant } = this.#about
    if (cost !== undefined) {
      runtime.unitsOf(cost)
      this.#cost = cost
    }
    this.#pass = runtime.enterBreaker()
    if (this.#pass === undefined) {
      this.refused(new RefusedError('breaker-open', runtime.name, { retryAfterMs: runtime.breakerOpenMs, tenant }))
      return
    }
    this.#attempts += 1
    this.#prepare()
  }

  /** Nothing was written: it begins again and keeps its position in the queue. */
  again(): void {
    this.leave()
    this.#prepare()
  }

  /**
   * Begins another attempt after a while, where there is time and the fleet's budget has one retry more; `retried` is
   * called once that is decided. Otherwise calls `otherwise`.
   */
  retry(delayMs: number, reason: string, otherwise: () => void, retried?: () => void): void {
    if (delayMs > this.#leftMs) {
      otherwise()
      return
    }
    const { booking, clock, reports } = this.#about.runtime
    this.#state = 'retrying'
    void booking.ask({ op: 'retry' }).then((result) => {
      if (this.#state !== 'retrying') return
      if (result?.is !== 'ok') {
        this.#state = 'idle'
        otherwise()
        return
      }
      reports.retried(this.#attempts + 1, delayMs, reason)
      retried?.()
      this.#retryTimer = clock.setTimeout(() => this.begin(), delayMs)
    })
  }

  /** Ends whatever it waits for; a grant that is not used is returned. */
  leave(): void {
    const { runtime } = this.#about
    this.#state = 'idle'
    runtime.clock.clearTimeout(this.#retryTimer)
    this.#giveUp?.()
    this.#giveUp = undefined
    this.#grant?.cancel()
    this.#grant = undefined
    this.#connections?.leave(this)
    this.#connections = undefined
  }

  /** The attempt is over. */
  end(outcome: 'succeeded' | 'failed' | 'cancelled'): void {
    this.#about.runtime.leaveBreaker(this.#pass, outcome)
  }

  #prepare(): void {
    const { runtime, needsConnection } = this.#about
    this.#state = 'before'
    // Those of an upstream that has ended are not waited for: the booking refuses the call.
    this.#connections = needsConnection && !runtime.connections.isClosed ? runtime.connections : undefined
    if (this.#connections === undefined || this.#connections.whenReady(this)) this.#book()
  }

  connectionReady(): void {
    this.#book()
  }

  #book(): void {
    const { runtime, options, tenant, scope } = this.#about
    const nowMs = runtime.clock.monotonic()
    this.#arrivedMs ??= nowMs
    this.#state = 'booked'
    const booking = {
      caller: nameOf(options.caller),
      tenant: nameOf(tenant),
      weight: runtime.upstream.weights[tenant] ?? 1,
      priorityMs: Math.round(options.priority ?? 0),
      arrivedMs: this.#arrivedMs,
      maxWaitMs: this.#maxWaitMs,
      scope,
      units: runtime.unitsOf(this.#cost),
      arrivalMs: runtime.longestArrivalMs(this.#user.bytes),
      first: this.#attempts === 1,
    }
    const giveUp = runtime.booking.book(booking, this, nowMs)
    // The answer may have come synchronously, before this line.
    if (this.#state === 'booked') this.#giveUp = giveUp
  }

  get #maxWaitMs(): number {
    const { runtime, options } = this.#about
    const { maxWait = runtime.upstream.maxWaitMs } = options
    return Math.min(parseDuration(maxWait, 'egress call.maxWait'), runtime.upstream.maxWaitMs)
  }

  refused(error: Error): void {
    const { runtime, tenant } = this.#about
    this.#giveUp = undefined
    this.leave()
    this.end('cancelled')
    if (error instanceof RefusedError) runtime.reports.refused(tenant, this.#arrivedMs, error)
    this.#user.refused(error)
  }

  granted(grant: Grant): void {
    this.#giveUp = undefined
    const { runtime, tenant, needsConnection } = this.#about
    this.#state = 'granted'
    this.#grant = grant
    this.#waitMs = grant.waitedMs
    runtime.reports.granted(tenant, this.#waitMs, this.#attempts, grant.receivedMs)
    if (!needsConnection) {
      this.connected(undefined)
      return
    }
    if (this.#connections === undefined || this.#connections !== runtime.connections) {
      this.again()
      return
    }
    const connection = this.#connections.take(this)
    if (connection) this.connected(connection)
    else if ((runtime.roundTripMs ?? 0) > longHandshakeMs) this.again()
  }

  connected(connection: Connection | undefined): void {
    const grant = this.#grant!
    this.#grant = undefined
    this.#connections = undefined
    this.#state = 'idle'
    this.#user.granted(grant, connection)
  }

  connectFailed(error: Error): void {
    this.#connections = undefined
    this.leave()
    this.#user.unreachable(error)
  }

  connectionsClosed(): void {
    this.again()
  }
}
