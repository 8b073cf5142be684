import { closeSync, openSync, readSync } from 'node:fs'

/** The state of a listening socket in `/proc/net/tcp`. */
const listening = '0A'
/** Every line of `/proc/net/tcp` has this length; those of `tcp6` are a little longer. */
const lineBytes = 160
/** The kernel lists listening sockets first. More than these are not looked at. */
const mostLines = 200

/** A port that this process listens on, taken from an accepted socket. */
export interface ListeningPort {
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
