import { connect, type Socket } from 'node:net'
import { waitFor } from './wait-for.ts'

/** A connection on which a test decides itself what is written, and when it ends. */
export class HttpConnection {
  readonly #socket: Socket
  #received = ''
  #hasEnded = false

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (chunk: string) => {
      this.#received += chunk
    })
    const end = () => {
      this.#hasEnded = true
    }
    socket.on('end', end)
    socket.on('close', end)
    // A server may well reset what a test sends it.
    socket.on('error', () => {})
  }

  static open(port: number): Promise<HttpConnection> {
    return new Promise((resolve, reject) => {
      const socket = connect(port, '127.0.0.1')
      socket.once('error', reject)
      socket.once('connect', () => resolve(new HttpConnection(socket)))
    })
  }

  /** Writes requests as they stand, all in one packet where they fit. */
  send(...requests: readonly string[]): void {
    this.#socket.write(requests.join(''), 'latin1')
  }

  /** Everything that came so far. */
  get received(): string {
    return this.#received
  }

  /** Whether the server has ended its side. */
  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** The statuses of the answers so far. */
  get statuses(): readonly number[] {
    return [...this.#received.matchAll(/HTTP\/1\.1 (\d{3})/g)].map(([, status]) => Number(status))
  }

  /** The statuses, once there are so many. */
  async answers(count: number): Promise<readonly number[]> {
    await waitFor(() => this.statuses.length >= count, { describe: `${count} answers` })
    return this.statuses
  }

  /** Ends the connection as a client that crashed does: with a reset. */
  reset(): void {
    this.#socket.resetAndDestroy()
  }

  close(): void {
    this.#socket.destroy()
  }
}

/** A request as it goes over the wire. */
export function rawRequest(target: string, method = 'GET', headers: readonly string[] = []): string {
  return [`${method} ${target} HTTP/1.1`, 'Host: 127.0.0.1', ...headers, '', ''].join('\r\n')
}
