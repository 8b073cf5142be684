import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { createLimiter } from '../limiter/create-limiter.ts'
import type { PolicyDocument } from '../policy/document/document.ts'
import type { SourceListener } from '../policy/live/source.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { StoreObserver } from '../stores/store.ts'
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
  const stop = prometheusMetrics({ registry }).watch(limiter)
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
  stop()
  await limiter.check(view('/d', '192.0.2.1'))
  expect(await registry.metrics()).toContain(`${count('none', 'allowed')} 3`)
  await limiter.close()
})

test('tells of the store, the breaker, leases and local decisions', async () => {
  const registry = new Registry()
  let observer: StoreObserver = {}
  const inner = memoryStore()
  const store = {
    name: 'observed',
    decide: inner.decide.bind(inner),
    health: inner.health.bind(inner),
    close: inner.close.bind(inner),
    watch: (given: StoreObserver) => {
      observer = given
    },
  }
  const limiter = await createLimiter({ policy, store })
  prometheusMetrics({ registry }).watch(limiter)
  observer.roundTrip!(7, 3)
  observer.failure!('timeout', new Error('late'))
  observer.breaker!('open')
  observer.local!('lease', 'by-ip')
  observer.lease!('by-ip', 100, 20, 5)
  const text = await registry.metrics()
  for (const line of [
    'sluice_store_batch_size_sum{service="shop"} 7',
    'sluice_store_round_trip_duration_seconds_sum{service="shop"} 0.003',
    'sluice_store_failures_total{service="shop",kind="timeout"} 1',
    'sluice_breaker_state{service="shop",state="open"} 1',
    'sluice_breaker_state{service="shop",state="closed"} 0',
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
  prometheusMetrics({ registry }).watch(limiter)
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

test('egress tells its queue and its waits by name', async () => {
  const registry = new Registry()
  const egress = prometheusMetrics({ registry }).egress('vendor')
  egress.depth(4)
  egress.waited(250)
  const text = await registry.metrics()
  expect(text).toContain('sluice_egress_queue_depth{egress="vendor"} 4\n')
  expect(text).toContain('sluice_egress_wait_duration_seconds_sum{egress="vendor"} 0.25\n')
})
