import { encodeKey } from '../../core/key.ts'
import type { MsgpackReader, Packed } from '../../redis/msgpack.ts'
import { namespaceOf } from '../../redis/namespaces.ts'
import type { UsedRedis } from '../../redis/use-redis.ts'
import type { BookingPort, ExchangeReply, Mirror, StepResult } from './messages.ts'
import { exchange as exchangeScript } from './scripts.gen.ts'

/** Keeps the state of upstreams in Redis, where all replicas share it. */
export function redisPort({ redis, prefix, release }: UsedRedis, service: string): BookingPort {
  return {
    async exchange(upstream, asked, withinMs) {
      const keys = upstreamKeys(service, upstream, prefix)
      const { reply } = await redis.runScript({ script: exchangeScript, keys, args: [JSON.stringify(asked)], withinMs })
      return readReply(reply)
    },
    isReachable: async (withinMs) => (await redis.health(withinMs)).reachable,
    close: release,
  }
}

/**
 * The keys of an upstream, both in one cluster slot: its state, and who waits in which order. A name that begins with
 * `@` is that of an account, which services share.
 */
export function upstreamKeys(service: string, upstream: string, prefix: string): readonly string[] {
  const [owner, name] = upstream.startsWith('@') ? ['@', upstream.slice(1)] : [service, upstream]
  const base = `${namespaceOf('upstream', owner, prefix)}{${encodeKey(name)}}`
  return [base, `${base}:queue`]
}

/** Reads what `exchange.lua` returns after status and time. */
export function readReply(reply: MsgpackReader): ExchangeReply {
  const next = <T>(): T => reply.read() as unknown as T
  return {
    marker: next(),
    known: next<number>() === 1,
    timeUs: next(),
    verifiedUs: next(),
    epoch: next(),
    offsetUs: next(),
    lostUs: next(),
    results: next<Packed[][]>().map(toResult),
    grants: next<[string, number][]>().map(([id, number]) => ({ id, number })),
    paused: next<[string, number][]>().map(([id, ms]) => ({ id, ms })),
    voided: next(),
    askInUs: next(),
    recoveringMs: next(),
    pacedMs: next(),
    pausedMs: next(),
    widenedMs: next(),
    widenedForMs: next(),
    depth: next(),
    processes: next(),
    used: next(),
    mirrors: next<[string, number, Mirror['entries']][]>().map(([key, completeUs, entries]) => ({
      ...{ key, completeUs, entries },
    })),
  }
}

function toResult([is, first, second]: Packed[]): StepResult {
  if (is === 'paused') return { is, ms: first as number }
  if (is === 'queued' || is === 'full' || is === 'too-long')
    return { is, ahead: first as number, earliestMs: second as number }
  return { is } as StepResult
}
