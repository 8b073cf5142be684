import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { Server as NetServer, type Socket } from 'node:net'

/** How long a server that ends goes on accepting: load balancers and clients learn of it only after a while. */
const acceptMs = 100
/** After so long without a new connection, clients that had requests to send wait for their answers. */
const noneCameMs = 20
/** Where connections never stop coming, the first turn without one has to do after so long, and any after so long. */
const [anyIdleTurnMs, anyTurnMs] = [200, 1000]
/** A turn of the event loop that takes longer has run callbacks, and connections may have come meanwhile. */
const idleTurnMs = 0.2
/** How long a connection that has been accepted gets to send its request, once the daemon is ending. */
const quietMs = 250
const tickMs = 25

/**
 * Answers what comes for a moment more, with `Connection: close`; then stops accepting, answers what was accepted, and
 * ends; after `drainMs` it ends regardless.
 */
export async function drain(server: Server, drainMs: number): Promise<void> {
  const force = setTimeout(() => server.closeAllConnections(), drainMs)
  server.prependListener('request', (_: IncomingMessage, response: ServerResponse) => {
    response.shouldKeepAlive = false
  })
  await new Promise((resolve) => setTimeout(resolve, acceptMs))
  const { closed } = await stopListening(server)
  const stopClosing = closeIdleConnections(server)
  await closed
  stopClosing()
  clearTimeout(force)
}

/**
 * Ends the listening at a moment when the system holds no connection that Node has not accepted: those would be reset,
 * with what was sent on them. Node accepts one connection per turn of the event loop, so only a turn in which nothing
 * happened shows it. Until then connections are accepted and not read: a client that waits opens no other one.
 */
async function stopListening(server: Server): Promise<{ readonly closed: Promise<void> }> {
  const waiting: Socket[] = []
  const listeners = server.listeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection').on('connection', (socket: Socket) => void waiting.push(socket))
  setPauseOnConnect(server, true)
  await nothingToAccept(() => waiting.length)
  // http.Server.close would also cut idle connections, on which a request may be under way.
  const closed = new Promise<void>((resolve) => NetServer.prototype.close.call(server, () => resolve()))
  setPauseOnConnect(server, false)
  server.removeAllListeners('connection')
  for (const listener of listeners) server.on('connection', listener)
  for (const socket of waiting) {
    server.emit('connection', socket)
    socket.resume()
  }
  return { closed }
}

async function nothingToAccept(accepted: () => number): Promise<void> {
  const startMs = performance.now()
  let cameMs = startMs
  for (let turnMs = startMs; turnMs - startMs < anyTurnMs; ) {
    const before = accepted()
    await new Promise((resolve) => setImmediate(resolve))
    const nowMs = performance.now()
    if (accepted() !== before) cameMs = nowMs
    else if (nowMs - turnMs < idleTurnMs && (nowMs - cameMs > noneCameMs || nowMs - startMs > anyIdleTurnMs)) return
    turnMs = nowMs
  }
}

/** `pauseOnConnect` of `net.Server`, which may be changed at any time. */
function setPauseOnConnect(server: Server, isOn: boolean): void {
  ;(server as { pauseOnConnect?: boolean }).pauseOnConnect = isOn
}

/**
 * Closes connections that are idle, again and again, until the returned function is called. Whoever has sent a request
 * on one meanwhile loses it, so nothing counts as idle while this machine is so busy that timers are late: clients on
 * it have requests to send, and the daemon requests to read, that they come to only later.
 */
function closeIdleConnections(server: Server): () => void {
  let quietTicks = 0
  let dueMs = performance.now() + tickMs
  const ticks = setInterval(() => {
    const nowMs = performance.now()
    quietTicks = nowMs - dueMs > tickMs / 2 ? 0 : quietTicks + 1
    dueMs = nowMs + tickMs
    if (quietTicks < quietMs / tickMs) return
    quietTicks = 0
    server.closeIdleConnections()
  }, tickMs)
  return () => clearInterval(ticks)
}
