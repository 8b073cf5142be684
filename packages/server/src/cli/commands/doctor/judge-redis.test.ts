import { parseInfo } from 'sluice/redis'
import { describe, expect, it } from 'vitest'
import {
  judgeClients,
  judgeClock,
  judgeCluster,
  judgeEviction,
  judgeLatency,
  judgeMemory,
  judgePersistence,
  judgeRole,
  judgeVersion,
} from './judge-redis.ts'

const info = (...lines: string[]) => parseInfo(lines.join('\r\n'))

describe('the doctor', () => {
  it.each([
    [judgeVersion(info('redis_version:7.0.15')), 'ok'],
    [judgeVersion(info('redis_version:7.2.4', 'valkey_version:8.0.1')), 'ok'],
    [judgeVersion(info('redis_version:6.2.0')), 'ok'],
    [judgeVersion(info('redis_version:6.0.16')), 'problem'],
    [judgeRole(info('role:master', 'connected_slaves:2')), 'ok'],
    [judgeRole(info('role:slave')), 'problem'],
    [judgeEviction(info('maxmemory_policy:noeviction', 'maxmemory:0', 'evicted_keys:0')), 'ok'],
    [judgeEviction(info('maxmemory_policy:allkeys-lru', 'maxmemory:1000', 'evicted_keys:0')), 'warning'],
    [judgeEviction(info('maxmemory_policy:noeviction', 'evicted_keys:7')), 'problem'],
    [judgeEviction(info('maxmemory_policy:allkeys-lru', 'maxmemory:1000', 'evicted_keys:7'), true), 'ok'],
    [judgeMemory(info('used_memory:95', 'maxmemory:100')), 'warning'],
    [judgeMemory(info('used_memory:95', 'maxmemory:0')), 'ok'],
    [judgePersistence(info('aof_enabled:1'), ''), 'ok'],
    [judgePersistence(info('aof_enabled:0'), '3600 1'), 'ok'],
    [judgePersistence(info('aof_enabled:0'), undefined), 'ok'],
    [judgePersistence(info('aof_enabled:0'), ''), 'warning'],
    [judgePersistence(info('aof_enabled:1', 'aof_last_write_status:err'), ''), 'problem'],
    [judgeClients(info('connected_clients:95', 'maxclients:100')), 'warning'],
    [judgeClients(info('connected_clients:5', 'maxclients:100')), 'ok'],
    [judgeLatency([0.2, 0.3, 90]), 'ok'],
    [judgeLatency([30, 40, 50]), 'warning'],
    [judgeLatency([300, 400, 500]), 'problem'],
    [judgeClock(5, 1), 'ok'],
    [judgeClock(-10_000, 1), 'warning'],
    [judgeClock(-10_000, 9000), 'ok'],
    [judgeCluster(info('cluster_state:ok', 'cluster_slots_ok:16384', 'cluster_slots_fail:0')), 'ok'],
    [judgeCluster(info('cluster_state:fail', 'cluster_slots_ok:16000', 'cluster_slots_fail:384')), 'problem'],
  ])('says %o', (finding, level) => {
    expect(finding.level).toBe(level)
    expect(finding.mend !== undefined).toBe(level !== 'ok')
  })

  it.each([
    [950, '950 B'],
    [1_460_000, '1.5 MB'],
    [463_000_000, '463 MB'],
    [2_000_000_000, '2 GB'],
  ])('writes %d bytes as %s', (amount, text) => {
    expect(judgeMemory(info(`used_memory:${amount}`)).text).toBe(`${text} in use, no maximum`)
  })
})
