import { checkOptionNames, checkWhole } from '../core/check-options.ts'
import type { Clock } from '../core/clock.ts'
import { type Duration, parseDuration } from '../core/duration.ts'
import { invalidOption } from '../core/errors.ts'
import type { RedisHandle } from '../redis/handle.ts'
import { namespaceOf } from '../redis/namespaces.ts'
import { reportPart } from '../redis/report-part.ts'
import { useRedis } from '../redis/use-redis.ts'
import { systemClock } from '../runtime/system-clock.ts'
import type { Presence } from './presence.ts'
import type { ReplayLimits } from './presence-store.ts'
import { RedisPresence } from './redis-presence.ts'

export interface PresenceOptions {
  readonly redis: RedisHandle
  /** Keeps the channels apart from those of another presence of the service. */
  readonly name?: string
  /** How long the members of a process that died are still listed; 60 s by default. */
  readonly ttl?: Duration
  /** How often a process sends its heartbeat; 20 s by default. Three must fit into the TTL. */
  readonly beat?: Duration
  /** How long a member may be without a connection before it counts as left; 10 s by default. */
  readonly grace?: Duration
  /**
   * How many messages of a channel are kept for clients that reconnect, and for how long after the last one; 100 for
   * 5 minutes by default.
   */
  readonly replay?: { readonly messages?: number; readonly within?: Duration }
  /** How long Redis may take to answer; 500 ms by default. */
  readonly redisDeadline?: Duration
  /** Time, for tests. */
  readonly clock?: Clock
}

const known = ['redis', 'name', 'ttl', 'beat', 'grace', 'replay', 'redisDeadline', 'clock']

/**
 * Keeps track of who is connected to which channel, over all processes.
 *
 * @example
 * const presence = await createPresence({ redis })
 * const membership = await presence.join('prices', user.id, { name: user.name })
 * await presence.count('prices')
 * membership.leave()
 */
export async function createPresence(options: PresenceOptions): Promise<Presence> {
  checkOptionNames('createPresence', options, known)
  const { name = 'default', clock = systemClock() } = options
  const ms = (name: 'ttl' | 'beat' | 'grace' | 'redisDeadline', usual: Duration): number =>
    parseDuration(options[name] ?? usual, `createPresence.${name}`)
  const ttlMs = ms('ttl', '60s')
  const beatMs = ms('beat', Math.ceil(ttlMs / 3))
  if (beatMs < 1 || beatMs * 3 > ttlMs + 2)
    throw invalidOption('createPresence.beat', options.beat, 'use at most a third of the ttl, so that two may get lost')
  const { redis, service, prefix, release } = useRedis(options.redis, 'createPresence.redis')
  const keys = namespaceOf('presence', service, prefix, name)
  const [graceMs, redisDeadlineMs] = [ms('grace', '10s'), ms('redisDeadline', '500ms')]
  const presence = new RedisPresence(redis, {
    ...{ name, prefix: keys, ttlMs, beatMs, graceMs, redisDeadlineMs, clock, replay: readReplay(options.replay) },
    release: async () => {
      await endReport()
      await release()
    },
  })
  const endReport = reportPart(options.redis, { kind: 'presence', name, stats: () => presence.stats() })
  await presence.start()
  return presence
}

function readReplay(replay: PresenceOptions['replay'] = {}): ReplayLimits {
  checkOptionNames('createPresence.replay', replay, ['messages', 'within'])
  const { messages = 100, within = '5m' } = replay
  checkWhole('createPresence.replay.messages', messages, 0, 'messages')
  return { messages, withinMs: Math.max(1, parseDuration(within, 'createPresence.replay.within')) }
}
