import { randomUUID } from 'node:crypto'
import type { Clock } from '../core/clock.ts'
import { invalidOption } from '../core/errors.ts'
import { Emitter } from '../core/observe/emitter.ts'
import { compilePolicy } from '../policy/compile/compile-policy.ts'
import type { CompiledPolicy } from '../policy/compiled-policy.ts'
import type { PolicyDocument } from '../policy/document/document.ts'
import { livePolicy } from '../policy/live/live-policy.ts'
import type { PolicySource } from '../policy/live/source.ts'
import { staticPolicy } from '../policy/sources/static.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { Store } from '../stores/store.ts'
import { usingStore } from '../stores/using-store.ts'
import { loadUndici } from './call/load-undici.ts'
import type { Egress } from './egress.ts'
import type { EgressEvents } from './events.ts'
import { checkHooks, checkOptions, type EgressOptions } from './options.ts'
import type { BookingPort } from './places/ports/booking-port.ts'
import { memoryPort } from './places/ports/memory-port.ts'
import { redisPort } from './places/ports/redis-port.ts'
import { PolicyEgress } from './policy-egress.ts'

/**
 * Makes outgoing calls within the limits of each vendor, across all replicas that share a store.
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
export function createEgress(options: EgressOptions): Promise<Egress> {
  return usingStore(options?.store as Store | undefined, () => makeEgress(options))
}

async function makeEgress(options: EgressOptions): Promise<Egress> {
  checkOptions(options)
  const undici = await loadUndici()
  const clock = options.clock ?? systemClock()
  const events = new Emitter<EgressEvents>()
  const source = isSource(options.policy) ? options.policy : staticPolicy(options.policy)
  let follow: ((policy: CompiledPolicy) => void) | undefined
  const live = await livePolicy({
    source,
    compile: (document) => compilePolicy(document),
    onLoaded: (policy) => {
      follow?.(policy)
      events.emit('policyLoaded', { version: policy.version, source: source.description })
    },
    onRejected: (error) => events.emit('policyRejected', { source: source.description, error }),
  })
  let port: BookingPort
  try {
    checkHooks(options.hooks ?? {}, live.current.upstreams)
    port = portOf(options.store, live.current.service, clock)
  } catch (error) {
    await live.close()
    throw error
  }
  const egress = new PolicyEgress({
    live,
    undici,
    clock,
    events,
    port,
    newOwner: port.inProcess ? () => `p${++ownersInProcess}` : () => randomUUID(),
    hooks: options.hooks ?? {},
    dispatcher: options.dispatcher,
    deadlineMs: options.deadlineMs ?? 500,
    replicas: options.replicas,
    random: options.random ?? Math.random,
  })
  follow = (policy) => egress.follow(policy)
  return egress
}

/** State in this process has no owners of other processes. Ids begin with the owner, and short ones are cheap. */
let ownersInProcess = 0

const inProcess = new WeakMap<Store, BookingPort>()

/**
 * Where the state of upstreams is kept: in the store's Redis, or in this process, shared by all egresses on the same
 * store. A store that the caller passed in stays open, as others may use it; it closes its connections when it has no
 * users.
 */
function portOf(store: Store | BookingPort | undefined, service: string, clock: Clock): BookingPort {
  if (store === undefined) return memoryPort(clock)
  if (isPort(store)) {
    return {
      name: store.name,
      exchange: (upstream, asked, withinMs) => store.exchange(upstream, asked, withinMs),
      listen: (upstream, owner, onAssigned) => store.listen(upstream, owner, onAssigned),
      close: async () => {},
    }
  }
  const lent = store.abilities?.lendRedis?.()
  if (lent) {
    const port = redisPort(lent, service)
    const release = store.use?.()
    return { ...port, close: async () => void (await Promise.all([port.close(), release?.()])) }
  }
  if (!store.abilities?.inProcess)
    throw invalidOption('createEgress.store', store.name, 'it cannot book; pass memoryStore() or redisStore(client)')
  const port = inProcess.get(store) ?? memoryPort(clock)
  inProcess.set(store, port)
  return port
}

function isPort(store: Store | BookingPort): store is BookingPort {
  return typeof (store as Partial<BookingPort>).exchange === 'function'
}

function isSource(policy: PolicyDocument | PolicySource): policy is PolicySource {
  return typeof (policy as Partial<PolicySource>).start === 'function'
}
