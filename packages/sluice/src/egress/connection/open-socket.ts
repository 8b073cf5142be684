import type { Socket } from 'node:net'
import type { buildConnector } from 'undici'
import type { Clock } from '../../core/clock.ts'

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
export function openSocket(
  connect: buildConnector.connector,
  to: buildConnector.Options,
  clock: Clock,
  opened: Opened,
): void {
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
