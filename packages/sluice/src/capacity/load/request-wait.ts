import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { closeSync, openSync, readSync } from 'node:fs'
import type { Socket } from 'node:net'
import type { Clock } from '../../core/clock.ts'

/** Arrivals per millisecond are averaged over about this time. */
const averageMs = 200

/**
 * Estimates how long connections have waited in the kernel before they were accepted, from the length of that queue.
 * libuv accepts one connection in each turn of the event loop, so turns stay short, and the delay of the event loop
 * low, while hundreds of connections wait.
 */
export class AcceptWait {
  #sampledMs: number
  #length = 0
  #lastEmptyMs: number
  #perMs = 0
  /** Connections accepted since the last sample. */
  #accepted = 0

  constructor(nowMs: number) {
    this.#sampledMs = nowMs
    this.#lastEmptyMs = nowMs
  }

  accepted(): void {
    this.#accepted++
  }

  /** A new reading of the queue's length. */
  sample(length: number, nowMs: number): void {
    const elapsedMs = nowMs - this.#sampledMs
    if (elapsedMs > 0) {
      const perMs = Math.max(0, this.#accepted + length - this.#length) / elapsedMs
      this.#perMs += (perMs - this.#perMs) * (1 - Math.exp(-elapsedMs / averageMs))
    }
    if (length === 0) this.#lastEmptyMs = nowMs
    this.#length = length
    this.#sampledMs = nowMs
    this.#accepted = 0
  }

  /** How long the connection that is accepted next has waited, in milliseconds. */
  waitedMs(nowMs: number): number {
    const ahead = this.#length - this.#accepted
    if (ahead <= 0) return 0
    // It came before all that were still in the queue at the sample, but not before the queue was last empty.
    const sinceArrivalMs = nowMs - this.#sampledMs + ahead / Math.max(this.#perMs, 1e-9)
    return Math.min(sinceArrivalMs, nowMs - this.#lastEmptyMs)
  }
}

/** The state of a listening socket in `/proc/net/tcp`. */
const listening = '0A'
/** Every line of `/proc/net/tcp` has this length; those of `tcp6` are a little longer. */
const lineBytes = 160
/** The kernel lists listening sockets first. More than these are not looked at. */
const mostLines = 200

/** A port that this process listens on, taken from an accepted socket. */
interface ListeningPort {
  readonly port: number
  readonly family: 'IPv4' | 'IPv6'
}

/**
 * How many connections wait in the kernel until this process accepts them; undefined where the kernel does not report
 * it (only Linux does). Reads line by line and stops at the port: the whole file takes milliseconds on a busy server.
 */
export function acceptQueueLength({ port, family }: ListeningPort): number | undefined {
  let file: number | undefined
  try {
    file = openSync(family === 'IPv6' ? '/proc/net/tcp6' : '/proc/net/tcp', 'r')
    const chunk = Buffer.allocUnsafe(lineBytes)
    let text = ''
    for (let line = 0; line < mostLines; line++) {
      const bytes = readSync(file, chunk, 0, lineBytes, null)
      if (bytes === 0) return undefined
      text += chunk.toString('latin1', 0, bytes)
      const end = text.lastIndexOf('\n')
      const length = queueLengthIn(text.slice(0, end + 1), port)
      if (length !== undefined) return length
      text = text.slice(end + 1)
    }
  } catch {
    // No such file: another system, or a container that hides it.
  } finally {
    if (file !== undefined) closeSync(file)
  }
  return undefined
}

/** The queue of a listening socket in lines of `/proc/net/tcp`: its receive queue counts connections, not bytes. */
export function queueLengthIn(lines: string, port: number): number | undefined {
  const hex = port.toString(16).toUpperCase().padStart(4, '0')
  for (const line of lines.split('\n')) {
    const [, local, , state, queues] = line.trim().split(/\s+/)
    if (state === listening && local?.endsWith(`:${hex}`)) return Number.parseInt(queues?.split(':')[1] ?? '', 16)
  }
  return undefined
}

/** The queue of the kernel is read at most this often. */
const sampleMs = 25

/** How long requests have waited before the guard saw them. */
export interface RequestWait {
  /** For the request that is being decided on, in milliseconds. */
  ofRequest(): number
  /** For connections, before they were accepted. */
  ofConnections(): number
  stop(): void
}

/**
 * Measures both queues before a Node server: connections that are not yet accepted, and requests that could be read in
 * the same turn of the event loop but came after others whose handlers took long.
 */
export function requestWait(clock: Clock): RequestWait {
  const accept = new AcceptWait(clock.monotonic())
  let port: ListeningPort | undefined
  let isPortOld = true
  let turnMs: number | undefined
  let sampledMs = clock.monotonic()
  const onAccepted = (message: unknown): void => {
    accept.accepted()
    // Reading the port of a socket is a system call; once for each sample is enough to notice another server.
    if (!isPortOld) return
    isPortOld = false
    const { localPort, localFamily } = (message as { socket: Socket }).socket
    if (localPort !== undefined) port = { port: localPort, family: localFamily === 'IPv6' ? 'IPv6' : 'IPv4' }
  }
  const sample = (nowMs: number): void => {
    if (port === undefined || nowMs - sampledMs < sampleMs) return
    sampledMs = nowMs
    isPortOld = true
    accept.sample(acceptQueueLength(port) ?? 0, nowMs)
  }
  subscribe('net.server.socket', onAccepted)
  return {
    ofRequest() {
      const nowMs = clock.monotonic()
      sample(nowMs)
      if (turnMs === undefined) {
        turnMs = nowMs
        setImmediate(() => (turnMs = undefined))
      }
      return Math.max(nowMs - turnMs, accept.waitedMs(nowMs))
    },
    ofConnections() {
      const nowMs = clock.monotonic()
      sample(nowMs)
      return accept.waitedMs(nowMs)
    },
    stop: () => void unsubscribe('net.server.socket', onAccepted),
  }
}
