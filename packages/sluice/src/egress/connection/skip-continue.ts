import type { Socket } from 'node:net'

const interim = Buffer.from('HTTP/1.1 100')
const headEnd = Buffer.from('\r\n\r\n')
const mostHead = 16 * 1024

/**
 * Leaves `100 Continue` out of what is read from a connection. A client has to accept it also when it did not ask for
 * it (RFC 9110, 15.2), and undici ends the connection instead. Returns a function to be called before each request, as
 * the bytes are looked at only where a response begins.
 */
export function skipContinue(socket: Socket): () => void {
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
