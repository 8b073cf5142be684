import type { Socket } from 'node:net'
import type { buildConnector, Client, Dispatcher } from 'undici'
import type { Undici } from './load-undici.ts'

/** One connection to a vendor, with one request at a time. */
export class Connection {
  readonly #client: Client
  #socket: Socket
  #beforeRequest: () => void
  #isGiven = false
  /** Undici has opened another connection by itself; it is used for one request only. */
  #isReplaced = false
  #idleSinceMs = Infinity
  #wasUsed = false

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

  /** Whether it ever had a request. */
  get wasUsed(): boolean {
    return this.#wasUsed
  }

  setBusy(): void {
    this.#wasUsed = true
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

const interim = Buffer.from('HTTP/1.1 100')
const headEnd = Buffer.from('\r\n\r\n')
const mostHead = 16 * 1024

/**
 * Leaves `100 Continue` out of what is read from a connection. A client has to accept it also when it did not ask for
 * it (RFC 9110, 15.2), and undici ends the connection instead. Returns a function to be called before each request, as
 * the bytes are looked at only where a response begins.
 */
function skipContinue(socket: Socket): () => void {
  const read = socket.read.bind(socket)
  let isAtStart = false
  let held: Buffer | undefined
  socket.read = (size?: number) => {
    if (!isAtStart) return read(size)
    for (let chunk = read() as Buffer | null; chunk !== null; chunk = read() as Buffer | null) {
      held = held === undefined ? chunk : Buffer.concat([held, chunk])
      held = withoutInterim(held)
      if (mayBeInterim(held)) continue
      isAtStart = false
      const rest = held
      held = undefined
      return rest
    }
    return null
  }
  return () => {
    isAtStart = true
    held = undefined
  }
}

/** Cuts off all interim responses that are complete. */
function withoutInterim(bytes: Buffer): Buffer {
  const end = isInterim(bytes) ? bytes.indexOf(headEnd) : -1
  return end < 0 ? bytes : withoutInterim(bytes.subarray(end + headEnd.length))
}

function isInterim(bytes: Buffer): boolean {
  return bytes.length >= interim.length && bytes.subarray(0, interim.length).equals(interim)
}

/** Whether more bytes are needed to know. Undici refuses heads that are too long. */
function mayBeInterim(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, interim.length)
  return bytes.length < mostHead && bytes.subarray(0, length).equals(interim.subarray(0, length))
}
