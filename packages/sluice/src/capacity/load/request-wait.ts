import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'
import type { Clock } from '../../core/clock.ts'
import { acceptQueueLength, type ListeningPort } from './accept-queue.ts'
import { AcceptWait } from './accept-wait.ts'

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
