import type { Socket } from 'node:net'
import type { buildConnector, Client, Dispatcher } from 'undici'
import type { Undici } from './load-undici.ts'
import { skipContinue } from './skip-continue.ts'

/** One connection to a vendor, with one request at a time. */
export class Connection {
  readonly #client: Client
  #socket: Socket
  #beforeRequest: () => void
  #isGiven = false
  /** Undici has opened another connection by itself; it is used for one request only. */
  #isReplaced = false
  #idleSinceMs = Infinity

  constructor(undici: Undici, origin: string, socket: Socket, connect: buildConnector.connector) {
    this.#socket = socket
    this.#beforeRequest = skipContinue(socket)
    // A client of undici connects at its first request, and is given the connection that is there. It connects again
    // for a request with another server name, and for one whose connection was lost before it was written.
    const give: buildConnector.connector = (to, callback) => {
      const isOurs = !this.#isGiven && !socket.destroyed && isSameName(socket, to.servername)
      this.#isGiven = true
      // Within the call, the client does not continue with its request.
      if (isOurs) queueMicrotask(() => callback(null, socket))
      else connect(to, (...result) => this.#replace(result, callback))
    }
    this.#client = new undici.Client(origin, { connect: give, pipelining: 1, allowH2: false })
  }

  get socket(): Socket {
    return this.#socket
  }

  /** Since when it has no request, by the monotonic clock; Infinity while it has one. */
  get idleSinceMs(): number {
    return this.#idleSinceMs
  }

  /** It has no request, and does not keep the process alive. */
  setIdle(nowMs: number): void {
    this.#idleSinceMs = nowMs
    this.#socket.unref()
  }

  setBusy(): void {
    this.#idleSinceMs = Infinity
    this.#socket.ref()
  }

  get isOpen(): boolean {
    return !this.#isReplaced && !this.#socket.destroyed && this.#socket.readable && this.#socket.writable
  }

  dispatch(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#beforeRequest()
    this.#client.dispatch(request, handler)
  }

  /** Ends it after the request that it has. */
  async close(): Promise<void> {
    // A client that had no request does not know its connection.
    if (this.#idleSinceMs === Infinity && !this.#client.destroyed) await this.#client.close()
    else await this.destroy()
  }

  async destroy(): Promise<void> {
    this.#socket.destroy()
    if (!this.#client.destroyed) await this.#client.destroy()
  }

  #replace(result: Parameters<buildConnector.Callback>, callback: buildConnector.Callback): void {
    this.#isReplaced = true
    const [, socket] = result
    // Undici leaves it out when it could not connect.
    if (socket) {
      this.#socket = socket
      this.#beforeRequest = skipContinue(socket)
      this.#beforeRequest()
    }
    callback(...result)
  }
}

function isSameName(socket: Socket, name: string | null | undefined): boolean {
  const { servername } = socket as { servername?: string | false | null }
  return !name || !servername || servername === name
}
