import { type Meter, metrics } from '@opentelemetry/api'
import type { MetricSpec, PartMetrics } from '../../core/observe/metrics.ts'
import { Composer, type Metrics, type MetricsBackend, type Sample } from '../compose.ts'

/** Parts that share a meter share its instruments, also when they are given in separate calls. */
const composers = new WeakMap<Meter, Composer>()

/**
 * Reports the metrics of these parts to OpenTelemetry, from the same tables as Prometheus. Only metrics of parts that
 * are given exist. `sluice_decision_duration_seconds` is called `sluice.decision_duration` there, with the unit `s`; an
 * exporter for Prometheus makes the first of the second again.
 *
 * @example
 * const metrics = opentelemetryMetrics(meterProvider.getMeter('shop'), [limiterMetrics(limiter)])
 * metrics.close()
 */
export function opentelemetryMetrics(
  meter: Meter = metrics.getMeter('sluice'),
  parts: readonly PartMetrics[] = [],
): Metrics {
  let composer = composers.get(meter)
  if (composer === undefined) {
    composer = new Composer(opentelemetryBackend(meter))
    composers.set(meter, composer)
  }
  return composer.compose(parts)
}

function opentelemetryBackend(meter: Meter): MetricsBackend {
  const names = new Set<string>()
  const observed = (instrument: ReturnType<Meter['createObservableGauge']>, samples: () => Iterable<Sample>): void =>
    instrument.addCallback((result) => {
      for (const { labels, value } of samples()) result.observe(value, labels)
    })
  return {
    counter(name, spec, samples) {
      observed(meter.createObservableCounter(...named(name, spec, names)), samples)
    },
    gauge(name, spec, samples) {
      observed(meter.createObservableGauge(...named(name, spec, names)), samples)
    },
    histogram(name, spec) {
      const [otelName, options] = named(name, spec, names)
      const advice = { explicitBucketBoundaries: [...(spec.buckets ?? [])] }
      const histogram = meter.createHistogram(otelName, { ...options, advice })
      // It has no way to end a series of its own.
      return { observe: (value, labels) => histogram.record(value, labels), forget: () => {} }
    },
    has: () => true,
  }
}

const units: Readonly<Record<string, string>> = { _seconds: 's', _bytes: 'By', _ratio: '1' }

/**
 * The name and the unit by the conventions of OpenTelemetry, where the unit is no part of the name. It stays in the
 * name where another metric has that name without it.
 */
function named(
  name: string,
  { help, type }: MetricSpec,
  taken: Set<string>,
): [string, { description: string; unit: string }] {
  const bare = type === 'counter' ? name.replace(/_total$/, '') : name
  const ending = Object.keys(units).find((each) => bare.endsWith(each)) ?? ''
  const word = bare.slice('sluice_'.length, bare.length - ending.length)
  const otelName = `sluice.${word}${taken.has(word) ? ending : ''}`
  taken.add(word)
  return [otelName, { description: help, unit: units[ending] ?? '' }]
}
