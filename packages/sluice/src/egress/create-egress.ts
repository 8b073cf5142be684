import { randomBytes } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import { parseDuration } from '../core/duration.ts'
import { Emitter } from '../core/observe/emitter.ts'
import { usePolicy } from '../policy/live/open-policy.ts'
import { reportPart } from '../redis/report-part.ts'
import { useRedis } from '../redis/use-redis.ts'
import { systemClock } from '../runtime/system-clock.ts'
import { memoryPort } from './booking/memory-port.ts'
import type { BookingPort } from './booking/messages.ts'
import { redisPort } from './booking/redis-port.ts'
import { loadUndici } from './connection/load-undici.ts'
import type { Egress } from './egress.ts'
import { type EgressEvents, egressEventNames } from './events.ts'
import { checkHooks, checkOptions, type EgressOptions } from './options.ts'
import { PolicyEgress } from './policy-egress.ts'

/**
 * Makes outgoing calls within the limits of each vendor, across all replicas that share a Redis.
 *
 * @example
 * const egress = await createEgress({
 *   policy: {
 *     service: 'ingest',
 *     upstreams: [{ name: 'vendor', origin: 'https://api.vendor.example', limits: { rps: 25 } }],
 *   },
 * })
 * const response = await egress.fetch('https://api.vendor.example/graphql', { method: 'POST', body: '{}' })
 * await egress.close()
 */
export async function createEgress(options: EgressOptions): Promise<Egress> {
  checkOptions(options)
  const undici = await loadUndici()
  const clock = options.clock ?? systemClock()
  const events = new Emitter<EgressEvents>(egressEventNames)
  const policy = await usePolicy('createEgress', options.policy, { clock })
  const { live } = policy
  let port: BookingPort
  try {
    checkHooks(options.hooks ?? {}, live.current.upstreams)
    port = portOf(options, live.current.service, clock)
  } catch (error) {
    await policy.close()
    throw error
  }
  const egress: PolicyEgress = new PolicyEgress({
    policy,
    undici,
    clock,
    events,
    port,
    newOwner: 'inProcess' in port ? () => `p${++ownersInProcess}` : () => randomBytes(9).toString('base64url'),
    hooks: options.hooks ?? {},
    dispatcher: options.dispatcher,
    connect: undici.buildConnector({ ...options.connect, allowH2: false }),
    deadlineMs: parseDuration(options.deadline ?? '500ms', 'createEgress.deadline'),
    replicas: options.replicas,
    random: options.random ?? Math.random,
    beforeClose: () => endReport(),
  })
  const endReport = reportPart(options.redis, {
    kind: 'egress',
    name: options.name ?? 'default',
    service: live.current.service,
    stats: () => egress.stats(),
  })
  policy.on('loaded', (event) => {
    egress.follow(live.current)
    events.emit('policyLoaded', event)
  })
  policy.on('rejected', (event) => events.emit('policyRejected', event))
  return egress
}

/** State in this process has no owners of other processes. Ids begin with the owner, and short ones are cheap. */
let ownersInProcess = 0

/** Where the state of upstreams is kept. What was passed in stays open when an egress closes, as others may use it. */
function portOf({ redis, store }: EgressOptions, service: string, clock: Clock): BookingPort {
  if (redis !== undefined) return redisPort(useRedis(redis, 'createEgress.redis'), service)
  if (store === undefined) return memoryPort(clock)
  return {
    exchange: (upstream, asked, withinMs) => store.exchange(upstream, asked, withinMs),
    close: async () => {},
  }
}
