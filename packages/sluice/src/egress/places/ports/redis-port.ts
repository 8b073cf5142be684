import { encodeKey } from '../../../core/key.ts'
import type { MsgpackReader, Packed } from '../../../redis/msgpack.ts'
import { namespaceOf } from '../../../redis/namespaces.ts'
import type { UsedRedis } from '../../../redis/use-redis.ts'
import type { ExchangeReply, StepResult } from '../../booking/messages.ts'
import { exchange as exchangeScript } from '../../booking/scripts.gen.ts'
import type { BookingPort } from './booking-port.ts'

/** Keeps the state of upstreams in Redis, where all replicas share it. */
export function redisPort({ redis, prefix, release }: UsedRedis, service: string): BookingPort {
  const keysOf = (upstream: string): readonly string[] => upstreamKeys(service, upstream, prefix)
  const channelsOf = (upstream: string): string => `${keysOf(upstream)[0]}:places:`
  return {
    name: 'redis',
    async exchange(upstream, asked, withinMs) {
      const args = [JSON.stringify(asked), channelsOf(upstream)]
      const { reply } = await redis.runScript({ script: exchangeScript, keys: keysOf(upstream), args, withinMs })
      return readReply(reply)
    },
    listen: (upstream, owner, onAssigned) =>
      redis.subscribe(channelsOf(upstream) + owner, { message: onAssigned, ready: onAssigned }),
    isReachable: async (withinMs) => (await redis.health(withinMs)).reachable,
    close: release,
  }
}

/** The keys of an upstream, all in one cluster slot: its places, who waits, tenants, and when calls expire. */
export function upstreamKeys(service: string, upstream: string, prefix: string): readonly string[] {
  const base = `${namespaceOf('upstream', service, prefix)}{${encodeKey(upstream)}}`
  return [base, `${base}:queue`, `${base}:tenants`, `${base}:deadlines`]
}

/** Reads what `exchange.lua` returns after status and time. */
export function readReply(reply: MsgpackReader): ExchangeReply {
  const next = <T>(): T => reply.read() as unknown as T
  return {
    nowMs: next(),
    epoch: next(),
    recovering: next<number>() === 1,
    known: next<number>() === 1,
    results: next<Packed[][]>().map(toResult),
    held: next(),
    paused: next<[string, number][]>().map(([id, ms]) => ({ id, ms })),
    adopted: next<[string, string, number][]>().map(([limit, tick, units]) => ({ limit, tick, units })),
    wakeMs: next(),
    pausedMs: next(),
    depth: next(),
    processes: next(),
    used: next(),
    notify: next<[string, string[]][]>().map(([owner, ids]) => ({ owner, ids })),
  }
}

function toResult([is, first, second]: Packed[]): StepResult {
  if (is === 'paused') return { is, ms: first as number }
  if (is === 'instants') return { is, at: first as number[] }
  if (is === 'queued' || is === 'full' || is === 'too-long')
    return { is, ahead: first as number, earliestMs: second as number }
  return { is } as StepResult
}
