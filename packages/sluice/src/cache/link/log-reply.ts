import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { Invalidation, LogReply } from '../protocol/messages.ts'

/** Reads the position that an invalidation has in the log. */
export function readPosition(reply: MsgpackReader, scopes: readonly string[]): Invalidation {
  return { generation: String(reply.read()), sequence: Number(reply.read()), scopes }
}

/** Reads what `sync.lua` returns: what happened since a position. */
export function readLog(reply: MsgpackReader): LogReply {
  const generation = String(reply.read())
  const next = (): number => Number(reply.read())
  const [sequence, last, since, keyFloor, scopeFloor] = [next(), next(), next(), next(), next()]
  const flat = reply.read() as (string | number)[]
  const changes: [string, number][] = []
  for (let i = 0; i < flat.length; i += 2) changes.push([String(flat[i]), Number(flat[i + 1])])
  return {
    ...{ generation, sequence, isLast: last === 1, keyFloor, scopeFloor, changes },
    since: since < 0 ? undefined : since,
  }
}
