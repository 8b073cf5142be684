import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A server that is listening. */
export interface Listening {
  readonly port: number
  /** Ends the server and every connection to it. */
  close(): Promise<void>
}

/** Lets a server listen on a free port of 127.0.0.1. After it, `opened` is closed. */
export function listening(server: Server, ...opened: readonly { close(): Promise<void> }[]): Promise<Listening> {
  const close = async (): Promise<void> => {
    await closed(server)
    for (const each of opened) await each.close()
  }
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => resolve({ port: (server.address() as AddressInfo).port, close }))
  })
}

/** Ends a server without waiting for its clients. */
export function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve())
    server.closeAllConnections()
  })
}
