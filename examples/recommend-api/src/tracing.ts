import { appendFile } from 'node:fs/promises'
import { context, trace as openTelemetry, SpanStatusCode } from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http'
import { resourceFromAttributes } from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'

/** Runs one step of a decision, and records how long it took if the decision is traced. */
export type Trace = <T>(step: string, work: () => Promise<T>) => Promise<T>

export interface Tracing {
  /** Runs a decision, of which the sampled share is traced. */
  decide<T>(attributes: Attributes, work: (trace: Trace) => Promise<T>): Promise<T>
  /** Sends or writes what is left. */
  close(): Promise<void>
}

type Attributes = Readonly<Record<string, string>>

interface Span {
  child(name: string): Span
  end(hasFailed: boolean): void
}

interface Spans {
  start(name: string, attributes: Attributes): Span
  close(): Promise<void>
}

const untraced: Trace = (_, work) => work()

export interface TracingOptions {
  /** The share of decisions that are traced, from 0 to 1. */
  readonly sampleRate: number
  /** Spans as lines of JSON. */
  readonly file?: string | undefined
  /** Whether spans go to the collector that the variables `OTEL_EXPORTER_OTLP_*` name, by OTLP over HTTP. */
  readonly isExported?: boolean
}

/** Without a file or a collector, spans go wherever an SDK that was loaded before sends them. */
export function createTracing({ sampleRate, file, isExported = false }: TracingOptions): Tracing {
  const spans = file === undefined ? openTelemetrySpans(isExported) : fileSpans(file)
  return {
    decide(attributes, work) {
      if (Math.random() >= sampleRate) return work(untraced)
      const decision = spans.start('decision', attributes)
      return timed(decision, () => work((step, inner) => timed(decision.child(step), inner)))
    },
    close: () => spans.close(),
  }
}

async function timed<T>(span: Span, work: () => Promise<T>): Promise<T> {
  let hasFailed = true
  try {
    const result = await work()
    hasFailed = false
    return result
  } finally {
    span.end(hasFailed)
  }
}

function openTelemetrySpans(isExported: boolean): Spans {
  const provider = isExported
    ? new TracerProvider({
        resource: resourceFromAttributes({ 'service.name': 'recommend-api' }),
        spanProcessors: [new BatchSpanProcessor({ exporter: new OTLPTraceExporter() })],
      })
    : undefined
  const tracer = (provider ?? openTelemetry).getTracer('recommend-api')
  const start = (name: string, attributes: Attributes, parent = context.active()): Span => {
    const span = tracer.startSpan(name, { attributes }, parent)
    return {
      child: (step) => start(step, attributes, openTelemetry.setSpan(parent, span)),
      end(hasFailed) {
        if (hasFailed) span.setStatus({ code: SpanStatusCode.ERROR })
        span.end()
      },
    }
  }
  return { start, close: async () => provider?.shutdown() }
}

function fileSpans(file: string): Spans {
  let written: Promise<void> = Promise.resolve()
  const start = (name: string, attributes: Attributes): Span => {
    const [startTime, startMs] = [new Date(), performance.now()]
    return {
      child: (step) => start(step, attributes),
      end(hasFailed) {
        const span = { name, startTime, durationMs: performance.now() - startMs, hasFailed, attributes }
        // In order, and nobody waits for the disk; a full one costs spans, not decisions.
        written = written.then(() => appendFile(file, `${JSON.stringify(span)}\n`)).catch(() => undefined)
      },
    }
  }
  return { start, close: () => written }
}
