import { type RedisHandle, useRedis } from 'sluice/redis'
import { type Session, type Sessions, sessionMs } from './sessions.ts'

/** Most sessions that are read at once; more than people sign out of in half a day. */
const maxRead = 10_000
const sessionId = /^[\w-]{22}$/

/**
 * Lets signing out end a session on every daemon that shares this Redis, so that a copied cookie is worth nothing
 * anywhere. Redis keeps the ids of ended sessions until they would have expired. While Redis is unreachable, a session
 * ends on the daemon that was asked, and on the others when Redis is back.
 *
 * The name of the key begins with `#`, which no service has there, so it cannot collide with a counter.
 */
export function shareEndedSessions(sessions: Sessions, handle: RedisHandle | undefined): () => Promise<void> {
  if (handle === undefined) return async () => {}
  const { redis, prefix, release } = useRedis(handle, 'sessions')
  const key = `${prefix}#session/ended`
  const unsent = new Map<string, Session>()
  let isReceiving = false
  const send = async (session: Session): Promise<void> => {
    const { id, endsAtMs } = session
    unsent.set(id, session)
    try {
      await redis.command(['ZADD', key, String(endsAtMs), id], { key })
      await redis.command(['ZREMRANGEBYSCORE', key, '-inf', String(Date.now())], { key })
      await redis.command(['PEXPIRE', key, String(sessionMs)], { key })
      await redis.publish(key, textOf(session))
      unsent.delete(id)
    } catch {
      // Sent again as soon as there is a connection.
    }
  }
  const read = async (): Promise<void> => {
    const range = ['ZRANGEBYSCORE', key, String(Date.now()), '+inf', 'WITHSCORES', 'LIMIT', '0', String(maxRead)]
    const found = ((await redis.command(range, { key }).catch(() => [])) as unknown[]).flat()
    for (let i = 0; i + 1 < found.length; i += 2) receive(`${found[i]} ${found[i + 1]}`)
  }
  const receive = (text: string): void => {
    const [id = '', ends] = text.split(' ')
    if (!sessionId.test(id) || !Number.isFinite(Number(ends))) return
    isReceiving = true
    sessions.end({ id, endsAtMs: Number(ends) })
    isReceiving = false
  }
  // What came from Redis is not sent there again.
  const stop = sessions.onEnded((session) => {
    if (!isReceiving) void send(session)
  })
  const unsubscribe = redis.subscribe(key, {
    message: receive,
    ready() {
      void read()
      for (const session of unsent.values()) void send(session)
    },
  })
  return async () => {
    stop()
    unsubscribe()
    await release()
  }
}

function textOf({ id, endsAtMs }: Session): string {
  return `${id} ${endsAtMs}`
}
