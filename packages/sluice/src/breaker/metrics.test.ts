import { Registry } from 'prom-client'
import { expect, test } from 'vitest'
import { prometheusMetrics } from '../metrics/prometheus.ts'
import { virtualClock } from '../testing/virtual-clock.ts'
import { breakerMetrics, createBreaker, createBreakers } from './index.ts'

const fail = (): Promise<never> => Promise.reject(new Error('boom'))

test('counts calls by outcome, failures by key, states, changes and fallbacks', async () => {
  const registry = new Registry()
  const breakers = createBreakers({ name: 'models', failures: 2, clock: virtualClock() })
  const metrics = prometheusMetrics(registry, [breakerMetrics(breakers)])
  for (let i = 0; i < 5; i++) await breakers.for('ctr-v7').run(fail, { fallback: () => 0.5 })
  await breakers.for('ctr-v8').run(() => 1)
  const text = await registry.metrics()
  for (const line of [
    'sluice_breaker_calls_total{breaker="models",outcome="succeeded"} 1',
    'sluice_breaker_calls_total{breaker="models",outcome="failed"} 2',
    'sluice_breaker_calls_total{breaker="models",outcome="rejected"} 3',
    'sluice_breaker_failures_total{breaker="models",key="ctr-v7"} 2',
    'sluice_breaker_state{breaker="models",key="ctr-v7",state="open"} 1',
    'sluice_breaker_state{breaker="models",key="ctr-v7",state="closed"} 0',
    'sluice_breaker_state{breaker="models",key="ctr-v8",state="closed"} 1',
    'sluice_breaker_changes_total{breaker="models",state="open"} 1',
    'sluice_breaker_fallbacks_total{breaker="models",reason="open"} 3',
    'sluice_breaker_fallbacks_total{breaker="models",reason="failed"} 2',
  ]) {
    expect(text).toContain(`${line}\n`)
  }
  metrics.close()
  await breakers.for('ctr-v7').run(fail, { fallback: () => 0.5 })
  expect(await registry.metrics()).toContain('outcome="rejected"} 3')
})

test('keys from requests cannot create an unbounded number of series', async () => {
  const registry = new Registry()
  const breakers = createBreakers({ failures: 1, clock: virtualClock() })
  prometheusMetrics(registry, [breakerMetrics(breakers, { maxKeys: 10 })])
  for (let i = 0; i < 500; i++) {
    await breakers
      .for(`key-${i}`)
      .run(fail)
      .catch(() => undefined)
  }
  const text = await registry.metrics()
  expect(text.match(/^sluice_breaker_failures_total\{/gm)).toHaveLength(11)
  expect(text.match(/^sluice_breaker_state\{/gm)).toHaveLength(33)
  expect(text).toContain('sluice_breaker_failures_total{breaker="default",key="other"} 490')
  expect(text).toContain('sluice_breaker_state{breaker="default",key="other",state="open"} 490')
})

test('a single breaker reports under its name, beside others', async () => {
  const registry = new Registry()
  const [a, b] = ['a', 'b'].map((name) => createBreaker({ name, failures: 1 }))
  prometheusMetrics(registry, [breakerMetrics(a!), breakerMetrics(b!)])
  await a!.run(fail).catch(() => undefined)
  const text = await registry.metrics()
  expect(text).toContain('sluice_breaker_failures_total{breaker="a",key="a"} 1')
  expect(text).toContain('sluice_breaker_state{breaker="b",key="b",state="closed"} 1')
})
