import { createServer, type Server } from 'node:net'

/** A loopback port that no other process can take until it is released. */
export interface PortReservation {
  readonly port: number
  release(): Promise<void>
}

// Below the range from which Linux (32768 and up) and macOS (49152 and up) take the ports of outgoing connections: a
// client that keeps reconnecting to a stopped server must neither be given the server's own port nor connect to itself.
const first = 10_000
const count = 22_000

// Parallel test processes start at different places, so that they seldom even try the same port.
let next = (process.pid * 7919) % count

/**
 * Reserves a free loopback port by listening on it. Connections to it are closed at once until it is released; then
 * your server can listen there, also again and again.
 *
 * @example
 * const reservation = await reservePort()
 * await reservation.release()
 */
export async function reservePort(): Promise<PortReservation> {
  for (let tries = 0; tries < count; tries += 1) {
    const port = first + next
    next = (next + 1) % count
    const server = await listen(port)
    if (server !== undefined) {
      return { port, release: () => new Promise((resolve) => server.close(() => resolve())) }
    }
  }
  throw new Error(`no free loopback port between ${first} and ${first + count}`)
}

/**
 * Calls `start` with free ports, released just before; when another process was quicker and `start` fails because an
 * address is in use, tries again with other ports.
 */
export async function withFreePorts<T>(amount: number, start: (ports: readonly number[]) => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    const reservations: PortReservation[] = []
    for (let i = 0; i < amount; i += 1) reservations.push(await reservePort())
    await Promise.all(reservations.map((reservation) => reservation.release()))
    try {
      return await start(reservations.map((reservation) => reservation.port))
    } catch (error) {
      if (tries === 5 || !isAddressInUse(error)) throw error
    }
  }
}

function isAddressInUse(error: unknown): boolean {
  return error instanceof Error && /EADDRINUSE|address already in use/i.test(error.message)
}

function listen(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy())
    server.unref()
    server.once('error', () => resolve(undefined))
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server))
  })
}
