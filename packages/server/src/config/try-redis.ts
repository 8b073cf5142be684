import { connect } from 'node:net'
import type { Cluster, Redis } from 'ioredis'
import { systemClock, withinTime } from 'sluice/internal'
import { hideSecrets } from '../connections/hide-secrets.ts'

/** Whether a failure says that user, password or database are wrong, which no waiting mends. */
export function isAuthFailure(error: Error): boolean {
  return /\b(WRONGPASS|NOAUTH|NOPERM|invalid password|without any password)/i.test(error.message) || isNoDatabase(error)
}

/** Whether a failure says that there is no such database. */
export function isNoDatabase({ message }: Error): boolean {
  return /DB index is out of range|SELECT is not allowed/.test(message)
}

/** Whether a connection ended before the server had answered. */
function isCut({ message }: Error): boolean {
  return /EPIPE|ECONNRESET|closed/.test(message)
}

/** Connects once and pings. Throws the first reason, rather than what the client says after it has given up. */
export async function tryRedis(client: Redis | Cluster, withinMs: number): Promise<void> {
  let reason: Error | undefined
  const learn = (error: Error & { lastNodeError?: Error }): void => {
    reason ??= error.lastNodeError ?? error
  }
  client.on('error', learn)
  const closed = new Promise<never>((_, reject) => {
    client.once('close', () => reject(new Error('the connection was closed')))
  })
  const late = (): Error => new Error(`no answer within ${withinMs} ms`)
  try {
    const pinged = client.connect().then(() => client.ping())
    await withinTime(Promise.race([pinged, closed]), { ms: withinMs, clock: systemClock(), late })
    // ioredis reports that it could not select the database, and goes on in database 0.
    if ((reason as { command?: { name?: string } } | undefined)?.command?.name === 'select') throw reason
  } catch (error) {
    if (reason === undefined || isCut(reason)) await askPlainly(client)
    const cause = reason ?? (error as Error)
    throw new Error(hideSecrets(cause.message || String((cause as { code?: unknown }).code)), { cause })
  } finally {
    client.off('error', learn)
    closed.catch(() => {})
  }
}

/**
 * Asks what the client does not tell: a Redis without TLS does not answer a client that begins TLS, and one without
 * free connections says so and closes.
 */
async function askPlainly(client: Redis | Cluster): Promise<void> {
  const { tls, host, port } = client.options as Redis['options']
  if (host === undefined || port === undefined) return
  const said = await new Promise<string>((resolve) => {
    const socket = connect({ host, port, timeout: 1500 })
    // The server speaks first only to refuse. A request before that could reset the connection and lose its words.
    const asking = setTimeout(() => socket.write('PING\r\n'), 500)
    socket.once('data', (reply) => resolve(reply.toString()))
    for (const end of ['error', 'close', 'timeout'] as const) socket.once(end, () => resolve(''))
    for (const end of ['data', 'timeout', 'close'] as const)
      socket.once(end, () => {
        clearTimeout(asking)
        socket.destroy()
      })
  })
  if (/max number of clients/.test(said)) throw new Error(said.trim().replace(/^-(?:ERR )?/, ''))
  if (tls === undefined && /^[^+-]/.test(said)) throw new Error(`${host}:${port} is no Redis`)
  if (tls !== undefined && /^[+-]/.test(said))
    throw new Error(`${host}:${port} speaks Redis without TLS; use redis:// instead of rediss://`)
}
