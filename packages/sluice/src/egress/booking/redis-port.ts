import { encodeKey } from '../../core/key.ts'
import type { RedisHandle } from '../../redis/handle.ts'
import type { MsgpackReader, Packed } from '../../redis/msgpack.ts'
import { namespaceOf } from '../../redis/namespaces.ts'
import { type UsedRedis, useRedis } from '../../redis/use-redis.ts'
import type { BookingPort, ExchangeReply, Mirror, StepResult } from './messages.ts'
import { exchange as exchangeScript, inspect as inspectScript } from './scripts.gen.ts'

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

/** One limit of an upstream, as it stands. */
export interface LimitInspection {
  /** Units that are taken; of how many, while a process states the limit. */
  readonly used: number
  readonly amount?: number
  /** In how long the next of them is free again (ms). */
  readonly nextFreeMs: number
  /** For how much longer it is paced because state was lost (ms). */
  readonly pacedMs: number
}

/** The shared state of an upstream, for display. */
export interface UpstreamInspection {
  /** Changes when state was lost. */
  readonly marker: string
  /** For how much longer nothing is granted because state was lost (ms). */
  readonly recoveringMs: number
  /** What a request counts as its arrival at least, since the vendor refused although there was room (ms). */
  readonly widenedMs: number
  readonly widenedForMs: number
  /** Calls that wait, on all replicas. */
  readonly waiting: number
  /** By limit, such as `requests/1000`. */
  readonly limits: Readonly<Record<string, LimitInspection>>
  /** By process: when it was last seen (ms ago), and how many of its calls are in flight. */
  readonly processes: Readonly<Record<string, { readonly seenMs: number; readonly inFlight: number }>>
  /** By scope: for how much longer (ms) it is paused; the empty scope is all of it. */
  readonly pauses: Readonly<Record<string, number>>
  /** Who waits: how many calls, and since when the first of them (ms ago). */
  readonly queue: readonly {
    readonly caller: string
    readonly tenant: string
    readonly waiting: number
    readonly sinceMs: number
  }[]
}

/**
 * Reads the shared state of an upstream; undefined when there is none.
 *
 * @example await inspectUpstream(redis, 'ingest', 'vendor')
 */
export async function inspectUpstream(
  handle: RedisHandle,
  service: string,
  upstream: string,
  withinMs = 2000,
): Promise<UpstreamInspection | undefined> {
  const { redis, prefix, release } = useRedis(handle, 'inspectUpstream redis')
  try {
    const keys = upstreamKeys(service, upstream, prefix)
    const { reply } = await redis.runScript({ script: inspectScript, keys, args: ['{}'], withinMs })
    const text = reply.read() as string
    if (text === '') return undefined
    const found = JSON.parse(text) as UpstreamInspection
    // An empty list of Lua reads as an object.
    return Array.isArray(found.queue) ? found : { ...found, queue: [] }
  } finally {
    await release()
  }
}
