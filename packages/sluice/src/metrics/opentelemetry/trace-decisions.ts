import { type Span, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { asyncDispose } from '../../core/async-dispose.ts'
import { checkOptionNames, checkShare } from '../../core/check-options.ts'
import type { Decision } from '../../limiter/decision/decision.ts'
import type { Limiter } from '../../limiter/limiter.ts'

export interface TracingOptions {
  /** The tracer; `trace.getTracer('sluice')` unless said otherwise. */
  readonly tracer?: Tracer
  /** The share of decisions that get a span: above 0, up to 1. 0.01 by default. */
  readonly sampleRate?: number
  /** Chance, for tests. */
  readonly random?: () => number
}

/**
 * A limiter whose decisions have spans, as children of whatever span is active: `sluice check` with the rule, the
 * outcome and whether it was degraded. A denial is no error. Keys are never attributes, as they may be personal data.
 *
 * @example
 * const limiter = traceDecisions(await createLimiter({ limits: { rpm: 100 } }), { sampleRate: 0.05 })
 */
export function traceDecisions(limiter: Limiter, options: TracingOptions = {}): Limiter {
  checkOptionNames('traceDecisions', options, ['tracer', 'sampleRate', 'random'])
  const { tracer = trace.getTracer('sluice'), sampleRate = 0.01, random = Math.random } = options
  checkShare('traceDecisions.sampleRate', sampleRate)

  async function spanned<Result>(
    name: string,
    work: () => Promise<Result>,
    decisionOf: (result: Result) => Decision,
  ): Promise<Result> {
    const span = tracer.startSpan(`sluice ${name}`)
    try {
      const result = await work()
      describe(span, limiter.policy.service, decisionOf(result))
      return result
    } catch (error) {
      span.recordException(error as Error)
      span.setStatus({ code: SpanStatusCode.ERROR, message: (error as Error).message })
      throw error
    } finally {
      span.end()
    }
  }
  const sampled = <Result>(
    name: string,
    work: () => Promise<Result>,
    decisionOf: (result: Result) => Decision,
  ): Promise<Result> => (sampleRate < 1 && random() >= sampleRate ? work() : spanned(name, work, decisionOf))
  const itself = (decision: Decision): Decision => decision
  const within = ({ decision }: { readonly decision: Decision }): Decision => decision

  return {
    check: (...args) => sampled('check', () => limiter.check(...args), itself),
    take: (...args) => sampled('take', () => limiter.take(...args), itself),
    wait: (...args) => sampled('wait', () => limiter.wait(...args), itself),
    admit: (...args) => sampled('admit', () => limiter.admit(...args), within),
    reserve: (...args) => sampled('reserve', () => limiter.reserve(...args), within),
    acquire: (...args) => sampled('acquire', () => limiter.acquire(...args), within),
    peek: (...args) => limiter.peek(...args),
    settle: (...args) => limiter.settle(...args),
    refund: (...args) => limiter.refund(...args),
    reset: (...args) => limiter.reset(...args),
    block: (...args) => limiter.block(...args),
    unblock: (...args) => limiter.unblock(...args),
    inspect: (...args) => limiter.inspect(...args),
    explain: (...args) => limiter.explain(...args),
    health: () => limiter.health(),
    stats: () => limiter.stats(),
    on: (...args) => limiter.on(...args),
    clock: limiter.clock,
    get waiting() {
      return limiter.waiting
    },
    get breaker() {
      return limiter.breaker
    },
    get policy() {
      return limiter.policy
    },
    close: (...args) => limiter.close(...args),
    [asyncDispose]: () => limiter.close(),
  }
}

function describe(span: Span, service: string, { allowed, reason, rule, degraded, failure }: Decision): void {
  span.setAttributes({
    'sluice.service': service,
    'sluice.allowed': allowed,
    'sluice.outcome': reason,
    'sluice.degraded': degraded,
    ...(rule === undefined ? {} : { 'sluice.rule': rule }),
    ...(failure === undefined ? {} : { 'sluice.failure': failure }),
  })
}
