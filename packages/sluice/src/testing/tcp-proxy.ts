import { createServer, type Server, type Socket } from 'node:net'
import { checkOptionNames } from '../core/check-options.ts'
import { type ProxiedConnection, proxyConnection } from './proxied-connection.ts'
import type { Direction, ProxyFaults, ProxyStats, TcpProxyOptions } from './proxy-faults.ts'
import { withFreePorts } from './servers/ports.ts'

/** Which replies are lost: all, each with a probability, or those that the predicate picks. */
export type DropReplies = boolean | number | ((chunk: Buffer) => boolean)

/** A TCP proxy on loopback that fails in the ways networks do. */
export interface TcpProxy {
  readonly port: number
  readonly stats: Readonly<ProxyStats>
  /**
   * Discards what the server answers, after the request was forwarded; then closes that connection, unless `thenClose`
   * is false.
   */
  dropReplies(which: DropReplies, options?: { readonly thenClose?: boolean }): void
  /** Holds everything, in both directions, without losing it; also on connections made meanwhile. */
  stall(on?: boolean): void
  /** Ends one direction of all open connections: the clients see the end of the stream, or the server does. */
  halfClose(seenBy?: 'client' | 'server'): void
  /** Refuses new connections; open ones stay. */
  refuse(on?: boolean): Promise<void>
  /** Destroys all open connections, with a TCP reset if `reset` is true. */
  cut(options?: { readonly reset?: boolean }): void
  /** Adds to the time of each chunk, in one direction or in each of both. */
  delay(ms: number, direction?: Direction): void
  /** Ends all faults. */
  resume(): Promise<void>
  close(): Promise<void>
}

/**
 * Starts a proxy in front of a loopback port.
 *
 * @example
 * const proxy = await startTcpProxy({ targetPort: 6379 })
 * proxy.dropReplies(0.01)
 */
export function startTcpProxy(options: TcpProxyOptions): Promise<TcpProxy> {
  checkOptionNames('startTcpProxy', options, ['targetPort', 'targetHost'])
  return withFreePorts(1, async ([port]) => {
    const stats: ProxyStats = { connections: 0, open: 0, requestBytes: 0, replyBytes: 0, droppedReplies: 0 }
    const faults: ProxyFaults = {
      drop: () => false,
      dropThenClose: true,
      stalled: false,
      delayMs: { requests: 0, replies: 0 },
    }
    const connections = new Set<ProxiedConnection>()
    const accept = (client: Socket): void => {
      const connection = proxyConnection(client, options, faults, stats)
      connections.add(connection)
      connection.closed.then(() => connections.delete(connection))
    }
    let server: Server | undefined = await listen(port!, accept)

    const proxy: TcpProxy = {
      port: port!,
      stats,
      dropReplies(which, options = {}) {
        checkOptionNames('dropReplies', options, ['thenClose'])
        const probability = Number(which)
        faults.drop = typeof which === 'function' ? which : () => Math.random() < probability
        faults.dropThenClose = options.thenClose ?? true
      },
      stall(on = true) {
        faults.stalled = on
        for (const connection of connections) connection.flow()
      },
      halfClose(seenBy = 'client') {
        for (const connection of connections) connection.halfClose(seenBy)
      },
      async refuse(on = true) {
        // Only a port without a listener refuses; the connections it has accepted do not depend on it.
        if (!on) server ??= await listen(port!, accept)
        else {
          server?.close()
          server = undefined
        }
      },
      cut(options = {}) {
        checkOptionNames('cut', options, ['reset'])
        for (const connection of connections) connection.cut(options.reset ?? false)
      },
      delay(ms, direction) {
        for (const one of ['requests', 'replies'] as const) if ((direction ?? one) === one) faults.delayMs[one] = ms
      },
      async resume() {
        proxy.dropReplies(false)
        proxy.delay(0)
        proxy.stall(false)
        await proxy.refuse(false)
      },
      async close() {
        await proxy.refuse()
        proxy.cut()
        await Promise.all([...connections].map((connection) => connection.closed))
      },
    }
    return proxy
  })
}

function listen(port: number, accept: (client: Socket) => void): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer({ allowHalfOpen: true, noDelay: true }, accept)
    server.once('error', reject)
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => resolve(server))
  })
}
