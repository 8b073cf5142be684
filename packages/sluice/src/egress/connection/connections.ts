import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import { backoffMs } from '../../core/backoff.ts'
import type { Clock, Timer } from '../../core/clock.ts'
import type { CompiledUpstream } from '../../policy/upstream/upstream.ts'
import type { Handshakes } from './arrival.ts'
import { Connection } from './connection.ts'
import type { Undici } from './load-undici.ts'

/** What needs a connection. One of the methods is called, once for each time that it asked. */
export interface ConnectionUser {
  /** One is ready now. */
  connectionReady(): void
  connected(connection: Connection): void
  connectFailed(error: Error): void
  /** There will be none: they are closed, such as because the vendor has another address now. */
  connectionsClosed(): void
}

export interface ConnectionsOptions {
  readonly undici: Undici
  readonly origin: string
  readonly connect: buildConnector.connector
  readonly clock: Clock
  readonly handshakes: Handshakes
  /** How many connections without a request are worth having. */
  readonly spare: () => number
}

/** Vendors close idle connections after this time or more; a shorter time is learned. */
const idleMs = 4000
/** What a vendor closes earlier than this has other reasons than that it was idle. */
const leastIdleMs = 500
/** How long no connection is opened in advance after one that came to nothing, longer for several in a row. */
const spareBackoff = { baseMs: 200, maxMs: 5000 } as const

/**
 * The connections to one vendor. A call asks twice:
 *
 *     whenReady   before it books: a handshake that takes seconds must not use up grants
 *     take        once it is granted: the connection is its own until its response has ended
 *
 * Calls between the two have no connection of their own, as thousands may wait; as many are kept ready as can be
 * granted at a time.
 */
export class Connections {
  readonly #options: ConnectionsOptions
  readonly #ready: Connection[] = []
  readonly #all = new Set<Connection>()
  readonly #before = new Map<ConnectionUser, Patience>()
  readonly #granted = new Set<ConnectionUser>()
  /** Calls that have asked whether one is ready and have not taken it. */
  #expected = 0
  /** The numbers of handshakes under way, in the order in which they began. */
  readonly #opening = new Set<number>()
  #begun = 0
  #returning = 0
  #idleLimitMs = idleMs
  /** The vendor has ended a connection soon after a response, or in it. */
  #endsEarly = false
  #isClosed = false
  /** How many were opened in a row that failed or that the vendor closed before they had a request. */
  #inVain = 0
  /** While it runs, connections are opened only for calls that cannot go on without one. */
  #pause: Timer | undefined

  constructor(options: ConnectionsOptions) {
    this.#options = options
  }

  get isClosed(): boolean {
    return this.#isClosed
  }

  /** Whether one is ready; otherwise `user.connectionReady` is called when one is. Ended by `take` or `leave`. */
  whenReady(user: ConnectionUser): boolean {
    this.#expected += 1
    this.#dropIdle()
    const isReady = this.#ready.length > 0
    if (!isReady) this.#before.set(user, { last: Infinity, isLast: false })
    this.#refill()
    if (!isReady) this.#before.set(user, { last: this.#begun, isLast: false })
    return isReady
  }

  /** A connection for a call that was granted; undefined when `user.connected` will be called with it. */
  take(user: ConnectionUser): Connection | undefined {
    this.#expected -= 1
    this.#dropIdle()
    const connection = this.#ready.pop()
    if (connection) connection.setBusy()
    else this.#granted.add(user)
    this.#refill()
    return connection
  }

  /** A user that was not answered needs none any more. */
  leave(user: ConnectionUser): void {
    if (!this.#granted.delete(user)) {
      this.#before.delete(user)
      this.#expected -= 1
    }
  }

  /** The response has ended. One that was opened to another address is not kept. */
  giveBack(connection: Connection): void {
    if (!this.#all.has(connection)) {
      void connection.destroy()
      return
    }
    if (connection.isOpen) this.#endPause()
    this.#returning += 1
    const add = (): void => {
      this.#returning -= 1
      this.#add(connection)
    }
    // Undici ends what cannot be used again after it has reported the end of the response. A vendor that ends
    // connections early may be ending this one: the next poll of the event loop shows that.
    if (this.#endsEarly) setImmediate(() => setImmediate(add))
    else queueMicrotask(add)
  }

  /** Ends connections after the requests that they have, or at once. */
  async close(isAtOnce = false): Promise<void> {
    this.#isClosed = true
    this.#endPause()
    for (const user of [...this.#granted, ...this.#before.keys()]) user.connectionsClosed()
    await Promise.all(Array.from(this.#all, (connection) => (isAtOnce ? connection.destroy() : connection.close())))
  }

  #add(connection: Connection): void {
    if (this.#isClosed || !connection.isOpen) {
      void connection.destroy()
      this.#refill()
      return
    }
    const [next] = this.#granted
    if (next) {
      this.#granted.delete(next)
      connection.setBusy()
      next.connected(connection)
      return
    }
    connection.setIdle(this.#options.clock.monotonic())
    this.#ready.push(connection)
    const waiting = [...this.#before.keys()]
    this.#before.clear()
    for (const user of waiting) user.connectionReady()
  }

  /** Those that the vendor may be closing at this moment are not used: a request on them would be lost. */
  #dropIdle(): void {
    if (this.#ready.length === 0) return
    const sinceMs = this.#options.clock.monotonic() - this.#idleLimitMs
    const isFresh = (connection: Connection): boolean => connection.isOpen && connection.idleSinceMs > sinceMs
    if (this.#ready.every(isFresh)) return
    for (const old of this.#ready.filter((connection) => !isFresh(connection))) void old.destroy()
    this.#ready.splice(0, this.#ready.length, ...this.#ready.filter(isFresh))
  }

  #refill(): void {
    const wanted = this.#pause === undefined ? this.#expected : this.#before.size
    const target = this.#granted.size + Math.min(wanted, this.#options.spare())
    const isShort = (): boolean => this.#ready.length + this.#opening.size + this.#returning < target
    while (!this.#isClosed && isShort()) this.#open()
  }

  #open(): void {
    const { undici, origin, connect, clock, handshakes } = this.#options
    const number = ++this.#begun
    this.#opening.add(number)
    openSocket(connect, addressOf(origin), clock, (error, opened) => {
      this.#opening.delete(number)
      if (opened === undefined) {
        this.#begunInVain()
        this.#failed(error!)
        return
      }
      handshakes.add(opened.handshakeMs, clock.monotonic())
      const connection = new Connection(undici, origin, opened.socket, connect)
      this.#all.add(connection)
      this.#watch(connection, opened.socket)
      this.#add(connection)
    })
  }

  #watch(connection: Connection, socket: Socket): void {
    const { clock } = this.#options
    socket.on('error', ignore)
    socket.once('end', () => {
      const idle = clock.monotonic() - connection.idleSinceMs
      // It will not be used from 3/4 of that time on.
      if (idle < leastIdleMs) this.#endsEarly = true
      else this.#idleLimitMs = Math.min(this.#idleLimitMs, (idle * 3) / 4)
    })
    socket.once('close', () => {
      this.#all.delete(connection)
      const at = this.#ready.indexOf(connection)
      if (at >= 0) this.#ready.splice(at, 1)
      if (!connection.wasUsed) this.#begunInVain()
      this.#refill()
    })
  }

  /** Calls that wait for a grant would otherwise have thousands opened each second to a vendor that is down. */
  #begunInVain(): void {
    if (this.#pause !== undefined || this.#isClosed) return
    this.#pause = this.#options.clock.setTimeout(
      () => {
        this.#pause = undefined
        this.#refill()
      },
      backoffMs(this.#inVain++, Math.random, spareBackoff),
    )
    this.#pause.unref?.()
  }

  /** One was of use. */
  #endPause(): void {
    this.#options.clock.clearTimeout(this.#pause)
    this.#pause = undefined
    this.#inVain = 0
  }

  /** A granted call has a handshake of its own. The others share those that are under way. */
  #failed(error: Error): void {
    const [next] = this.#granted
    const failed = next ? [next] : this.#ready.length === 0 ? this.#disappointed() : []
    for (const user of failed) {
      this.leave(user)
      user.connectFailed(error)
    }
    this.#refill()
  }

  /**
   * Those whose handshakes have failed: all that were under way when they asked, and then all that were under way when
   * these had. Calls that come meanwhile begin others, so that there may never be a moment without any.
   */
  #disappointed(): ConnectionUser[] {
    const [oldest = Number.POSITIVE_INFINITY] = this.#opening
    const failed: ConnectionUser[] = []
    for (const [user, patience] of this.#before) {
      if (patience.last >= oldest) continue
      if (patience.isLast || this.#opening.size === 0) failed.push(user)
      else this.#before.set(user, { last: this.#begun, isLast: true })
    }
    return failed
  }
}

/** Which handshake a call waits for. */
interface Patience {
  readonly last: number
  /** Whether it has waited for others before. */
  readonly isLast: boolean
}

function addressOf(origin: string): buildConnector.Options {
  const { protocol, host, hostname, port } = new URL(origin)
  // Brackets are for URLs, not for sockets.
  return { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port }
}

function ignore(): void {}

const most = 256

/**
 * How many connections without a request are worth having: as many as calls can be granted at a time, and while one
 * more handshake takes.
 */
export function spareConnections(limits: CompiledUpstream['limits'], handshakeMs: number): number {
  const calls = limits.filter(({ unit }) => unit === 'requests')
  const amounts = calls.map(({ amount, periodMs }) =>
    periodMs === 0 ? amount : Math.ceil(amount * (1 + handshakeMs / periodMs)),
  )
  return Math.min(most, ...amounts)
}

/** A connection that is ready to be written to. */
export interface OpenedSocket {
  readonly socket: Socket
  /** The longer of connect and, with TLS, the wait for what the server sends first. */
  readonly handshakeMs: number
}

type Opened = (error: Error | undefined, opened: OpenedSocket | undefined) => void

/**
 * Opens a connection and measures its handshake. TCP's may be answered by a relay nearby; TLS ends where the vendor's
 * certificate is.
 */
function openSocket(connect: buildConnector.connector, to: buildConnector.Options, clock: Clock, opened: Opened): void {
  let begunMs = clock.monotonic()
  let connectMs = 0
  const socket = connect(to, (error, ready) => {
    if (error !== null) opened(error, undefined)
    else opened(undefined, { socket: ready, handshakeMs: Math.max(connectMs, clock.monotonic() - begunMs) })
  }) as unknown as Socket
  // One after the other is tried where a name has several addresses; the last one is the one that connects.
  const begin = (): void => {
    begunMs = clock.monotonic()
  }
  socket.on('lookup', begin).on('connectionAttempt', begin)
  // TLS begins when TCP is connected. This listener comes before the one above only for TLS, so plain TCP is not
  // measured from here.
  if (to.protocol === 'https:')
    socket.once('connect', () => {
      connectMs = clock.monotonic() - begunMs
      begin()
    })
}
