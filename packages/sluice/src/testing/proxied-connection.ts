import { connect, type Socket } from 'node:net'
import type { Direction, ProxyFaults, ProxyStats, TcpProxyOptions } from './proxy-faults.ts'

/** One client of a TCP proxy and its connection to the server. */
export interface ProxiedConnection {
  readonly closed: Promise<void>
  /** Looks again at whether it may flow. */
  flow(): void
  halfClose(seenBy: 'client' | 'server'): void
  cut(reset: boolean): void
}

/** One direction of a connection: what has arrived waits here until it may go on. */
interface Lane {
  readonly to: Socket
  readonly waiting: { readonly dueMs: number; readonly chunk: Buffer | 'end' }[]
  timer: NodeJS.Timeout | undefined
}

/** Connects a client through to the server, subject to the faults in force at each moment. */
export function proxyConnection(
  client: Socket,
  { targetPort, targetHost = '127.0.0.1' }: TcpProxyOptions,
  faults: ProxyFaults,
  stats: ProxyStats,
): ProxiedConnection {
  const server = connect({ port: targetPort, host: targetHost, allowHalfOpen: true, noDelay: true })
  const lanes: Record<Direction, Lane> = {
    requests: { to: server, waiting: [], timer: undefined },
    replies: { to: client, waiting: [], timer: undefined },
  }
  stats.connections += 1
  stats.open += 1

  function cut(reset: boolean): void {
    for (const { timer } of Object.values(lanes)) clearTimeout(timer)
    if (reset) client.resetAndDestroy()
    else client.destroy()
    server.destroy()
  }

  function forward(lane: Lane): void {
    clearTimeout(lane.timer)
    lane.timer = undefined
    if (faults.stalled || lane.to.destroyed) return
    for (let next = lane.waiting[0]; next !== undefined; next = lane.waiting[0]) {
      const earlyMs = next.dueMs - performance.now()
      if (earlyMs > 0) {
        lane.timer = setTimeout(forward, earlyMs, lane)
        return
      }
      lane.waiting.shift()
      if (!lane.to.writable) continue
      if (next.chunk === 'end') lane.to.end()
      else lane.to.write(next.chunk)
    }
  }

  function arrive(direction: Direction, chunk: Buffer | 'end'): void {
    const lane = lanes[direction]
    lane.waiting.push({ dueMs: performance.now() + faults.delayMs[direction], chunk })
    forward(lane)
  }

  /** Reads nothing while stalled, so that the buffers of both ends fill up, as they do when a network stalls. */
  function flow(): void {
    for (const socket of [client, server]) {
      if (faults.stalled) socket.pause()
      else socket.resume()
    }
    forward(lanes.requests)
    forward(lanes.replies)
  }

  client.on('data', (chunk) => {
    stats.requestBytes += chunk.length
    arrive('requests', chunk)
  })
  server.on('data', (chunk) => {
    if (faults.drop(chunk)) {
      stats.droppedReplies += 1
      // The client would read the next data as the missing reply.
      if (faults.dropThenClose) cut(false)
      return
    }
    stats.replyBytes += chunk.length
    arrive('replies', chunk)
  })
  client.on('end', () => arrive('requests', 'end'))
  server.on('end', () => arrive('replies', 'end'))
  for (const socket of [client, server]) {
    socket.on('error', () => cut(false))
    socket.on('close', () => cut(false))
  }

  flow()
  return {
    closed: new Promise((resolve) => {
      client.once('close', () => {
        stats.open -= 1
        resolve()
      })
    }),
    cut,
    flow,
    halfClose: (seenBy) => void (seenBy === 'client' ? client : server).end(),
  }
}
