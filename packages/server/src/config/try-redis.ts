import type { Cluster, Redis } from 'ioredis'
import { systemClock, withinTime } from 'sluice/internal'
import { hideSecrets } from './secrets/hide-secrets.ts'

/** Whether a failure says that user, password or database are wrong, which no waiting mends. */
export function isAuthFailure(error: Error): boolean {
  return /\b(WRONGPASS|NOAUTH|NOPERM|invalid password|without any password)/i.test(error.message) || isNoDatabase(error)
}

/** Whether a failure says that there is no such database. */
export function isNoDatabase({ message }: Error): boolean {
  return /DB index is out of range|SELECT is not allowed/.test(message)
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
    const cause = reason ?? (error as Error)
    throw new Error(hideSecrets(cause.message || String((cause as { code?: unknown }).code)), { cause })
  } finally {
    client.off('error', learn)
    closed.catch(() => {})
  }
}
