import { serverFacts } from 'sluice/redis'
import { bytes, count, countOf, duration } from '../../terminal/numbers.ts'
import { type Finding, ok, problem, warning } from './finding.ts'

type Info = ReadonlyMap<string, string>

/** Says whether the server is new enough. */
export function judgeVersion(info: Info): Finding {
  const valkey = info.get('valkey_version')
  if (valkey !== undefined) return ok('version', `Valkey ${valkey}`)
  const version = info.get('redis_version') ?? 'unknown'
  if (isAtLeast(version, 6, 2)) return ok('version', `Redis ${version}`)
  return problem('version', `Redis ${version} is too old`, 'upgrade to Redis 6.2 or later, or to Valkey')
}

/** Says whether writes can go there. */
export function judgeRole(info: Info): Finding {
  const role = info.get('role') ?? 'unknown'
  if (role === 'master') return ok('role', `master with ${info.get('connected_slaves') ?? 0} replicas`)
  return problem('role', `this server is a ${role}`, 'give the address of the master, or the Sentinels that know it')
}

/** Says whether Redis may forget what was spent. */
export function judgeEviction(info: Info, isAccepted = false): Finding {
  const { evictionPolicy, maxmemory, evictedKeys } = serverFacts(info)
  if (isAccepted) {
    const text = `${evictionPolicy}, accepted: counters may start again, and caches are filled again`
    return ok('eviction', evictedKeys > 0 ? `${text}; ${count(evictedKeys)} keys were evicted` : text)
  }
  if (evictedKeys > 0) {
    return problem(
      'eviction',
      `${count(evictedKeys)} keys were evicted since it started, perhaps counters among them`,
      'CONFIG SET maxmemory-policy noeviction, and give it more memory',
    )
  }
  if (evictionPolicy === 'noeviction') return ok('eviction', 'noeviction: what was spent is never forgotten')
  const when = maxmemory === 0 ? 'once a maxmemory is set' : `at ${bytes(maxmemory)}`
  return warning(
    'eviction',
    `maxmemory-policy ${evictionPolicy} may forget what was spent ${when}`,
    'CONFIG SET maxmemory-policy noeviction',
  )
}

/** Says whether what was spent outlives a restart. `save`: the times of snapshots, undefined if nobody tells them. */
export function judgePersistence(info: Info, save: string | undefined, isAccepted = false): Finding {
  const failing = [
    ['rdb_last_bgsave_status', 'snapshot'],
    ['aof_last_write_status', 'write to the append-only file'],
  ].find(([field]) => info.get(field!) === 'err')
  if (failing !== undefined)
    return problem(
      'persistence',
      `the last ${failing[1]} failed`,
      'see its log; make room on its disk and its folder writable (CONFIG GET dir)',
    )
  if (info.get('aof_enabled') === '1') return ok('persistence', 'append-only file: a restart loses a second at most')
  if (save === undefined)
    return ok('persistence', 'no append-only file; whether it takes snapshots cannot be asked (CONFIG GET save)')
  if (save !== '') return ok('persistence', `snapshots (save ${save}): a restart loses what came after the last`)
  const text = 'nothing is kept on disk: when it restarts, all counters start again, also those of a day or a month'
  return isAccepted
    ? ok('persistence', `${text}, as accepted`)
    : warning('persistence', text, 'CONFIG SET appendonly yes, or accept it with --accept-eviction')
}

/** Says how full the memory is. */
export function judgeMemory(info: Info): Finding {
  const used = Number(info.get('used_memory') ?? 0)
  const most = Number(info.get('maxmemory') ?? 0)
  if (most === 0) return ok('memory', `${bytes(used)} in use, no maximum`)
  const text = `${bytes(used)} of ${bytes(most)} in use`
  return used / most > 0.9
    ? warning('memory', text, 'raise maxmemory: when it is full, rules do what onStoreFailure says')
    : ok('memory', text)
}

/** Says how many connections are left. */
export function judgeClients(info: Info): Finding {
  const used = Number(info.get('connected_clients') ?? 0)
  const most = Number(info.get('maxclients') ?? 0)
  if (most === 0) return ok('clients', `${countOf(used, 'connection')}, limit not known`)
  const text = `${countOf(used, 'connection')} of ${count(most)}`
  return used / most > 0.9
    ? warning('clients', text, 'raise maxclients (CONFIG SET maxclients), or see who holds them: CLIENT LIST')
    : ok('clients', text)
}

/** Says that one node of a cluster was named as if it were alone. */
export function judgeMode(info: Info, isCluster: boolean): Finding[] {
  if (isCluster || serverFacts(info).mode !== 'cluster') return []
  const text = 'this is one node of a cluster, and only its own slots can be used this way'
  return [warning('mode', text, 'use redis+cluster://HOST:PORT,HOST:PORT')]
}

/** Says whether round trips fit into the deadline of a decision. */
export function judgeLatency(timesMs: readonly number[], deadlineMs = 500): Finding {
  const sorted = [...timesMs].sort((a, b) => a - b)
  const at = (q: number): number => sorted[Math.min(sorted.length - 1, Math.floor(q * sorted.length))] ?? 0
  const text = `${duration(at(0.5))} median, ${duration(at(1))} at most over ${sorted.length} round trips`
  if (at(0.5) > deadlineMs / 2)
    return problem('latency', text, `bring Redis nearer: a decision has ${deadlineMs} ms in all`)
  if (at(0.5) > 20) return warning('latency', text, 'bring Redis nearer: every decision waits for one round trip')
  return ok('latency', text)
}

/**
 * Says how far the clocks are apart. Limits go by the clock of Redis, so this only matters to people who compare logs.
 */
export function judgeClock(offsetMs: number, uncertaintyMs: number): Finding {
  const away = Math.abs(offsetMs)
  const text = `Redis is ${duration(Math.round(away))} ${offsetMs < 0 ? 'behind' : 'ahead of'} this machine (±${duration(Math.ceil(uncertaintyMs))})`
  if (away - uncertaintyMs > 2000)
    return warning('clock', text, 'run NTP on both; limits stay exact, but calendar periods end by the clock of Redis')
  return ok('clock', text)
}

/** Says whether every slot of a cluster is served. */
export function judgeCluster(info: Info): Finding {
  const state = info.get('cluster_state') ?? 'unknown'
  const covered = Number(info.get('cluster_slots_ok') ?? 0)
  const failed = Number(info.get('cluster_slots_fail') ?? 0)
  const text = `state ${state}, ${count(covered)} of 16,384 slots served by ${info.get('cluster_size') ?? '?'} masters`
  if (state === 'ok' && covered === 16_384 && failed === 0) return ok('cluster', text)
  return problem('cluster', text, 'redis-cli --cluster check ADDRESS, then --cluster fix ADDRESS')
}

/** Whether a version such as `7.0.15` is at least `major.minor`. */
function isAtLeast(version: string, major: number, minor: number): boolean {
  const [a = 0, b = 0] = version.split('.').map(Number)
  return a > major || (a === major && b >= minor)
}
