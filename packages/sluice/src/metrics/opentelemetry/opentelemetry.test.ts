import { SpanStatusCode } from '@opentelemetry/api'
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics'
import { BasicTracerProvider, InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { expect, test } from 'vitest'
import { freshnessMetrics } from '../../freshness/metrics.ts'
import { createLimiter } from '../../limiter/create-limiter.ts'
import { limiterMetrics, limiterMetricTable } from '../../limiter/metrics.ts'
import { opentelemetryMetrics, traceDecisions } from './index.ts'

const policy = { service: 'shop', rules: [{ name: 'r', limits: { rpd: 2 } }] }

test('reports the same table as Prometheus, by the names and units of OpenTelemetry', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 })
  const provider = new MeterProvider({ readers: [reader] })
  const limiter = await createLimiter({ policy })
  const metrics = opentelemetryMetrics(provider.getMeter('test'), [limiterMetrics(limiter)])
  for (let i = 0; i < 3; i++) await limiter.take('a')
  await reader.forceFlush()
  const found = exporter
    .getMetrics()
    .at(-1)!
    .scopeMetrics.flatMap((scope) => scope.metrics)
  const named = (name: string) => found.find(({ descriptor }) => descriptor.name === name)
  expect(named('sluice.decisions')!.dataPoints.map(({ attributes, value }) => [attributes.outcome, value])).toEqual([
    ['allowed', 2],
    ['quota', 1],
  ])
  const duration = named('sluice.decision_duration')!
  expect(duration.descriptor).toMatchObject({
    unit: 's',
    description: limiterMetricTable.sluice_decision_duration_seconds!.help,
  })
  expect(duration.dataPoints[0]!.value).toMatchObject({
    count: 3,
    buckets: { boundaries: expect.arrayContaining([0.0001, 1]) },
  })
  expect(named('sluice.store_breaker_state')!.dataPoints).toHaveLength(3)
  metrics.close()
  await limiter.take('a')
  await reader.forceFlush()
  const after = exporter
    .getMetrics()
    .at(-1)!
    .scopeMetrics.flatMap((scope) => scope.metrics)
  const counted = after.find(({ descriptor }) => descriptor.name === 'sluice.decisions')!.dataPoints
  expect(counted.map(({ value }) => value)).toEqual([2, 1])
  await provider.shutdown()
  await limiter.close()
})

test('no two metrics have one name, also where they differ only in their unit', async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE)
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 60_000 })
  const provider = new MeterProvider({ readers: [reader] })
  const read = async () => [{ source: 'prices', stale: true, staleMs: 5000, ageMs: 9000 }] as never
  const metrics = opentelemetryMetrics(provider.getMeter('test'), [freshnessMetrics({ read })])
  await reader.forceFlush()
  const found = exporter
    .getMetrics()
    .at(-1)!
    .scopeMetrics.flatMap((scope) => scope.metrics)
  expect(found.map(({ descriptor, dataPoints }) => [descriptor.name, descriptor.unit, dataPoints[0]!.value])).toEqual([
    ['sluice.freshness_stale', '', 1],
    ['sluice.freshness_stale_seconds', 's', 5],
    ['sluice.freshness_age', 's', 9],
  ])
  metrics.close()
  await provider.shutdown()
})

function tracing() {
  const exporter = new InMemorySpanExporter()
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  return { exporter, tracer: provider.getTracer('test') }
}

test('a span for each decision says the rule, the outcome and whether it was degraded, and no key', async () => {
  const { exporter, tracer } = tracing()
  const limiter = traceDecisions(await createLimiter({ policy }), { tracer, sampleRate: 1 })
  for (let i = 0; i < 3; i++) await limiter.take('secret-key')
  const hold = await limiter.reserve('other')
  await hold.cancel()
  const spans = exporter.getFinishedSpans()
  expect(spans.map(({ name }) => name)).toEqual(['sluice take', 'sluice take', 'sluice take', 'sluice reserve'])
  expect(spans[2]!.attributes).toEqual({
    'sluice.service': 'shop',
    'sluice.allowed': false,
    'sluice.outcome': 'quota',
    'sluice.degraded': false,
    'sluice.rule': 'r',
  })
  expect(spans[2]!.status.code, 'a denial is no error').toBe(SpanStatusCode.UNSET)
  expect(JSON.stringify(spans.map(({ attributes }) => attributes))).not.toContain('secret-key')
  await expect(limiter.take('a', { rule: 'nope' })).rejects.toThrow()
  expect(exporter.getFinishedSpans().at(-1)!.status.code).toBe(SpanStatusCode.ERROR)
  await limiter.close()
})

test('only a sample of decisions has spans', async () => {
  const { exporter, tracer } = tracing()
  let next = 0
  const limiter = traceDecisions(await createLimiter({ policy }), {
    tracer,
    sampleRate: 0.25,
    random: () => (next++ % 4) / 4,
  })
  for (let i = 0; i < 8; i++) await limiter.take('a')
  expect(exporter.getFinishedSpans()).toHaveLength(2)
  expect(() => traceDecisions(limiter, { sampleRate: 2 })).toThrow(/sampleRate is 2/)
  await limiter.close()
})
