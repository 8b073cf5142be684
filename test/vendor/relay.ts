import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A relay in front of the vendor that delays what it passes on by 0 to `mostMs`, in order. */
export async function startRelay(toPort: number, mostMs: number): Promise<{ origin: string; close(): void }> {
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const vendor = connect(toPort, '127.0.0.1')
    for (const [from, to] of [
      [client, vendor],
      [vendor, client],
    ] as const) {
      sockets.add(from)
      from.setNoDelay(true)
      let lastMs = 0
      from.on('data', (bytes) => {
        lastMs = Math.max(lastMs, performance.now() + Math.random() * mostMs)
        setTimeout(() => to.writable && to.write(bytes), lastMs - performance.now())
      })
      from.on('error', () => to.destroy())
      from.on('close', () => {
        sockets.delete(from)
        setTimeout(() => to.destroy(), mostMs + 5)
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}
