import { checkOptionNames, optionNames } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { ConnectionOptions } from './connection/connection.ts'
import { defaultPrefix } from './namespaces.ts'

export interface RedisOptions {
  /**
   * Whose state it is, for parts without a policy; processes with the same name share it. `default` when left out. A
   * policy names its service itself.
   */
  readonly service?: string
  /** The start of every key of every part; `sluice:` when left out. */
  readonly prefix?: string
  /**
   * After how much silence a connection with calls in flight is given up, as a frozen server would never end it. 600 ms
   * by default.
   */
  readonly socketTimeout?: Duration
  /** Longest wait between two attempts to connect. 200 ms by default. */
  readonly reconnect?: Duration
  /**
   * Reports the parts of this process to Redis every two seconds, for `sluice top` and the page; `false` turns it off.
   * With `actions`, operators may have parts do something: open a breaker, flush a shipper. So may everybody who can
   * write to this Redis.
   */
  readonly reports?: boolean | { readonly actions?: boolean }
  /** Time, for tests. */
  readonly clock?: Clock
}

export interface ResolvedRedisOptions {
  /** As given; undefined when it was left out. */
  readonly service: string | undefined
  readonly prefix: string
  /** Undefined: none. */
  readonly reports: { readonly actions: boolean } | undefined
  readonly connection: ConnectionOptions
}

const names = optionNames<RedisOptions>({
  service: true,
  prefix: true,
  socketTimeout: true,
  reconnect: true,
  reports: true,
  clock: true,
})

/** Checks the options of `openRedis` and fills in the defaults, once. */
export function resolveRedisOptions(options: RedisOptions): ResolvedRedisOptions {
  checkOptionNames('openRedis', options, names)
  const { service, prefix = defaultPrefix, reports = true, clock = systemClock() } = options
  if (service !== undefined && (typeof service !== 'string' || service === ''))
    throw invalidOption('openRedis.service', service, 'use a text such as "shop"')
  if (typeof prefix !== 'string' || !/^[\x21-\x7e]{0,64}$/.test(prefix))
    throw invalidOption('openRedis.prefix', prefix, 'use at most 64 printable ASCII characters')
  const ms = (name: 'socketTimeout' | 'reconnect', value: Duration): number => {
    const parsed = parseDuration(value, `openRedis.${name}`)
    if (parsed < 1) throw invalidOption(`openRedis.${name}`, value, 'use at least 1 ms')
    return parsed
  }
  return {
    service,
    prefix,
    reports: reportsOf(reports),
    connection: {
      socketTimeoutMs: ms('socketTimeout', options.socketTimeout ?? 600),
      reconnectMs: ms('reconnect', options.reconnect ?? 200),
      clock,
    },
  }
}

function reportsOf(reports: NonNullable<RedisOptions['reports']>): ResolvedRedisOptions['reports'] {
  if (typeof reports === 'boolean') return reports ? { actions: false } : undefined
  if (typeof reports !== 'object' || reports === null)
    throw invalidOption('openRedis.reports', reports, 'use true, false or { actions: true }')
  checkOptionNames('openRedis.reports', reports, ['actions'])
  const { actions = false } = reports
  if (typeof actions !== 'boolean') throw invalidOption('openRedis.reports.actions', actions, 'use true or false')
  return { actions }
}
