import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { cacheMetrics, createCache } from '../cache/index.ts'
import { type MetricTable, partMetrics } from '../core/observe/metrics.ts'
import { createLimiter } from '../limiter/create-limiter.ts'
import { limiterMetrics } from '../limiter/metrics.ts'
import type { PolicyDocument } from '../policy/document/document.ts'
import type { SourceListener } from '../policy/live/source.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { StoreObserver } from '../stores/store.ts'
import { wrapStore } from '../stores/wrap-store.ts'
import { switchedStore } from '../testing/faulty-store.ts'
import { prometheusMetrics } from './prometheus.ts'

const policy: PolicyDocument = {
  service: 'shop',
  rules: [
    { name: 'by-ip', match: { path: '/a' }, key: 'ip', limits: { rpd: 1 } },
    { name: 'watched', match: { path: '/b' }, key: 'ip', limits: { rpd: 1 }, mode: 'shadow' },
    { name: 'needs-key', match: { path: '/c' }, key: 'headers.x-key', onMissing: 'deny', limits: { rpd: 1 } },
  ],
}

const view = (path: string, ip: string) => ({ method: 'GET', path, headers: {}, ip })

test('counts every decision once, also those without a rule, a key or an effect', async () => {
  const registry = new Registry()
  const limiter = await createLimiter({ policy })
  const metrics = prometheusMetrics(registry, [limiterMetrics(limiter)])
  for (const path of ['/a', '/a', '/b', '/b', '/c', '/d']) await limiter.check(view(path, '192.0.2.1'))
  const text = await registry.metrics()
  const count = (rule: string, outcome: string) =>
    `sluice_decisions_total{service="shop",rule="${rule}",outcome="${outcome}",degraded="false"}`
  expect(text).toContain(`${count('by-ip', 'allowed')} 1`)
  expect(text).toContain(`${count('by-ip', 'quota')} 1`)
  expect(text).toContain(`${count('needs-key', 'missing-key')} 1`)
  expect(text).toContain(`${count('none', 'allowed')} 3`)
  expect(text).toContain('sluice_shadow_decisions_total{service="shop",rule="watched",outcome="quota"} 1')
  expect(text).toContain('sluice_decision_duration_seconds_count{service="shop"} 6')
  expect(text).not.toContain('192.0.2.1')
  metrics.close()
  await limiter.check(view('/d', '192.0.2.1'))
  expect(await registry.metrics()).toContain(`${count('none', 'allowed')} 3`)
  await limiter.close()
})

test('reports the store, its breaker, leases and local decisions', async () => {
  const registry = new Registry()
  let observer: StoreObserver = {}
  const inner = memoryStore()
  const store = {
    ...wrapStore(inner, { name: 'observed' }),
    watch: (given: StoreObserver) => {
      observer = given
      return () => {}
    },
  }
  const limiter = await createLimiter({ policy, store })
  prometheusMetrics(registry, [limiterMetrics(limiter)])
  observer.roundTrip!(7, 3)
  observer.failure!('timeout', new Error('late'))
  observer.breaker!('open')
  observer.evicted!(9)
  observer.local!('lease', 'by-ip')
  observer.lease!('by-ip', 100, 20, 5)
  const text = await registry.metrics()
  for (const line of [
    'sluice_store_batch_size_sum{service="shop"} 7',
    'sluice_store_round_trip_duration_seconds_sum{service="shop"} 0.003',
    'sluice_store_failures_total{service="shop",kind="timeout"} 1',
    'sluice_store_breaker_state{service="shop",state="open"} 1',
    'sluice_store_evicted_keys_total{service="shop"} 9',
    'sluice_store_breaker_state{service="shop",state="closed"} 0',
    'sluice_local_decisions_total{service="shop",rule="by-ip",by="lease"} 1',
    'sluice_lease_units_total{service="shop",rule="by-ip",fate="drawn"} 100',
    'sluice_lease_units_total{service="shop",rule="by-ip",fate="stranded"} 5',
  ]) {
    expect(text).toContain(`${line}\n`)
  }
  await limiter.close()
})

test('shows only the version in force, and counts what was refused', async () => {
  const registry = new Registry()
  let listener: SourceListener | undefined
  const source = {
    description: 'test',
    start: async (given: SourceListener) => {
      listener = given
      return { document: { ...policy, version: 'one' }, revision: undefined }
    },
    close: async () => {},
  }
  const limiter = await createLimiter({ policy: source })
  prometheusMetrics(registry, [limiterMetrics(limiter)])
  listener!.changed({ document: { ...policy, version: 'two' }, revision: undefined })
  await expect.poll(() => registry.metrics()).toContain('version="two"')
  listener!.changed({ document: { rules: 1 }, revision: undefined })
  await expect.poll(() => registry.metrics()).toContain('sluice_policy_load_errors_total{service="shop"} 1\n')
  const text = await registry.metrics()
  expect(text).not.toContain('version="one"')
  expect(text).toContain('sluice_policy_loads_total{service="shop"} 2\n')
  expect(text).toContain('sluice_policy_stale{service="shop"} 1\n')
  await limiter.close()
})

test('a rule that a new policy has no more leaves the metrics, and what is reported late does not bring it back', async () => {
  const registry = new Registry()
  let listener: SourceListener | undefined
  let observer: StoreObserver = {}
  const source = {
    description: 'test',
    start: async (given: SourceListener) => {
      listener = given
      return { document: policy, revision: undefined }
    },
    close: async () => {},
  }
  const store = {
    ...wrapStore(memoryStore(), { name: 'observed' }),
    watch: (given: StoreObserver) => {
      observer = given
      return () => {}
    },
  }
  const limiter = await createLimiter({ policy: source, store })
  prometheusMetrics(registry, [limiterMetrics(limiter)])
  const use = async (): Promise<void> => {
    for (const path of ['/a', '/b', '/c']) await limiter.check(view(path, '192.0.2.1'))
    for (const rule of ['by-ip', 'needs-key']) await limiter.wait('192.0.2.9', { rule, maxWait: 0 })
    observer.local!('lease', 'by-ip')
    observer.lease!('by-ip', 100, 20, 5)
  }
  const series = async (rule: string) =>
    (await registry.metrics()).match(new RegExp(`^sluice_\\w+(?=\\{.*rule="${rule}")`, 'gm'))
  await use()
  expect(new Set(await series('by-ip'))).toEqual(
    new Set([
      'sluice_decisions_total',
      'sluice_local_decisions_total',
      'sluice_lease_units_total',
      'sluice_wait_duration_seconds_bucket',
      'sluice_wait_duration_seconds_sum',
      'sluice_wait_duration_seconds_count',
    ]),
  )
  expect(await series('watched')).toEqual(['sluice_shadow_decisions_total'])
  const kept = await series('needs-key')
  const rules = policy.rules!.filter(({ name }) => name === 'needs-key')
  listener!.changed({ document: { ...policy, version: 'two', rules }, revision: undefined })
  await expect.poll(() => registry.metrics()).toContain('version="two"')
  observer.local!('lease', 'by-ip')
  observer.lease!('by-ip', 0, 80, 0)
  await expect.poll(() => series('by-ip')).toBeNull()
  expect(await series('watched')).toBeNull()
  expect(await series('needs-key')).toEqual(kept)
  expect(await series('none')).not.toBeNull()
  await limiter.close()
})

test('registers nothing for parts that are not there', async () => {
  const registry = new Registry()
  prometheusMetrics(registry)
  expect(await registry.metrics()).toBe('\n')
})

test('limiters of several services share their metrics, also in separate calls', async () => {
  const registry = new Registry()
  const limiters = await Promise.all(
    ['shop', 'mail'].map((service) => createLimiter({ policy: { ...policy, service } })),
  )
  const metrics = limiters.map((limiter) => prometheusMetrics(registry, [limiterMetrics(limiter)]))
  for (const limiter of limiters) await limiter.check(view('/a', '192.0.2.1'))
  const count = (service: string, text: string) =>
    text.includes(`sluice_decisions_total{service="${service}",rule="by-ip",outcome="allowed",degraded="false"} 1\n`)
  const both = await registry.metrics()
  expect([count('shop', both), count('mail', both)]).toEqual([true, true])
  metrics[0]!.close()
  const one = await registry.metrics()
  expect(one).not.toContain('sluice_policy_stale{service="shop"}')
  expect(one).toContain('sluice_policy_stale{service="mail"} 0\n')
  expect(count('shop', one), 'what was counted stays').toBe(true)
  for (const limiter of limiters) await limiter.close()
})

const queue = {
  sluice_test_waiting: { type: 'gauge', help: 'Who waits.', labels: ['queue'] },
} as const satisfies MetricTable

test('a part may come later and go again', async () => {
  const registry = new Registry()
  const part = partMetrics(queue, (reporter) => {
    reporter.gauge('sluice_test_waiting', (set) => set(3, 'a'))
    return []
  })
  const remove = prometheusMetrics(registry).add(part)
  expect(await registry.metrics()).toContain('sluice_test_waiting{queue="a"} 3\n')
  remove()
  expect(await registry.metrics()).not.toContain('queue="a"')
  registry.clear()
  prometheusMetrics(registry, [part])
  expect(await registry.metrics(), 'after the registry was cleared').toContain('sluice_test_waiting{queue="a"} 3\n')
})

test('the compiler knows the metrics and labels of a table', () => {
  const part = partMetrics(queue, (reporter) => {
    // @ts-expect-error: no such metric
    expect(() => reporter.counter('sluice_test_wating')).toThrow(/no metric sluice_test_wating/)
    // @ts-expect-error: one label, not two
    reporter.gauge('sluice_test_waiting', (set) => set(1, 'a', 'b'))
    return []
  })
  prometheusMetrics(new Registry(), [part])
  expect.assertions(1)
})

test('refuses two parts that describe one metric differently', () => {
  const other = { sluice_test_waiting: { ...queue.sluice_test_waiting, labels: ['upstream'] } } as const
  const parts = [queue, other].map((table) => partMetrics(table, () => []))
  expect(() => prometheusMetrics(new Registry(), parts)).toThrow(/sluice_test_waiting differently/)
})

test('a cache without Redis has no gauge for it', async () => {
  const registry = new Registry()
  const cache = await createCache({ name: 'alone' })
  prometheusMetrics(registry, [cacheMetrics(cache)])
  const text = await registry.metrics()
  expect(text).toContain('sluice_cache_memory_entries{cache="alone"} 0')
  expect(text).not.toContain('sluice_cache_redis_up{')
  await cache.close()
})

test('a counter needs no labels', async () => {
  const registry = new Registry()
  const table = { sluice_test_opened_total: { type: 'counter', help: 'Doors.', labels: [] } } as const
  const part = partMetrics(table, (reporter) => {
    reporter.counter('sluice_test_opened_total')(2)
    return []
  })
  prometheusMetrics(registry, [part])
  expect(await registry.metrics()).toContain('sluice_test_opened_total 2\n')
})

test('all that wait for limiters of one service are counted together', async () => {
  const registry = new Registry()
  const limits = { service: 'shop', rules: [{ name: 'r', limits: { rpd: 1 } }] }
  const [first, second] = [await createLimiter({ policy: limits }), await createLimiter({ policy: limits })]
  prometheusMetrics(registry, [limiterMetrics(first), limiterMetrics(second, { decisionsOnly: true })])
  await first.take('a')
  const waiting = first.wait('a').catch(() => {})
  await expect.poll(() => first.waiting).toBe(1)
  expect(await registry.metrics()).toContain('sluice_waiting{service="shop"} 1\n')
  await Promise.all([first.close(), second.close(), waiting])
})

test('metrics and statistics that begin during an outage show the breaker as it is', async () => {
  const registry = new Registry()
  const store = switchedStore(memoryStore())
  const limiter = await createLimiter({ policy, store })
  store.failing = 'refused'
  await expect
    .poll(async () => {
      await limiter.take('a', { rule: 'by-ip' })
      return limiter.breaker
    })
    .toBe('open')
  prometheusMetrics(registry, [limiterMetrics(limiter)])
  expect(await registry.metrics()).toContain('sluice_store_breaker_state{service="shop",state="open"} 1\n')
  expect(limiter.stats().breaker).toBe('open')
  await limiter.close()
})

test('a cache counts misses of every kind of lookup, as its statistics do', async () => {
  const registry = new Registry()
  const cache = await createCache({ name: 'c' })
  prometheusMetrics(registry, [cacheMetrics(cache)])
  await cache.get('a')
  await cache.getMany(['b', 'c'])
  await cache.getOrFetch('d', async () => 1, { ttl: '1s' })
  const text = await registry.metrics()
  const misses = [...text.matchAll(/^sluice_cache_misses_total\{.*\} (\d+)$/gm)].reduce(
    (sum, [, n]) => sum + Number(n),
    0,
  )
  expect(misses).toBe(4)
  expect(cache.stats().misses).toBe(4)
  await cache.close()
})
