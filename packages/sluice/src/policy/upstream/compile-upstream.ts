import { maxPeriodMs } from '../../core/algorithms/limit.ts'
import { formatDuration } from '../../core/duration.ts'
import type { Report } from '../document/policy-error.ts'
import { readDuration } from '../document/read-duration.ts'
import type { UpstreamLimitSpec, UpstreamSpec } from '../document/upstream-spec.ts'
import { shortForms } from '../limit/short-forms.ts'
import { parseOrigin } from './origin.ts'
import type { CompiledUpstream, UpstreamLimit } from './upstream.ts'

const defaults = Object.freeze({
  maxWaitMs: 60_000,
  timeoutMs: 60_000,
  maxPauseMs: 900_000,
  retry: Object.freeze({ attempts: 3, baseMs: 250, maxMs: 10_000, budgetPercent: 10, floorPerSecond: 1 }),
  breaker: Object.freeze({ failures: 20, cooldownMs: 5000 }),
  maxQueue: 10_000,
})

const noOrigin = Object.freeze({ origin: '', pathPrefix: '/' })

/** Makes an upstream whose shape is already checked ready, and reports what makes no sense. */
function compileUpstream(spec: UpstreamSpec, path: string, report: Report): CompiledUpstream {
  const duration = (field: string, value: unknown, otherwise: number): number =>
    durationOr(otherwise, value, `${path}.${field}`, report)
  const { origin, pathPrefix } =
    spec.origin === undefined ? noOrigin : parseOrigin(spec.origin, `${path}.origin`, report)
  const limits = readLimits(spec, path, report)
  const maxWaitMs = duration('maxWait', spec.maxWait, defaults.maxWaitMs)
  const maxQueue = spec.maxQueue ?? mostUseful(limits, maxWaitMs)
  const { retry, breaker } = spec
  if (limits.length === 0) report(`${path}.limits`, spec.limits, 'give limits such as { rps: 25 }, or concurrency')
  return {
    name: spec.name,
    origin,
    pathPrefix,
    limits,
    arrival: readArrival(spec.arrival, `${path}.arrival`, report),
    afterLoss: spec.afterLoss ?? 'pace',
    account: spec.account,
    maxWaitMs,
    maxQueue,
    maxQueuePerTenant: spec.maxQueuePerTenant,
    timeoutMs: duration('timeout', spec.timeout, defaults.timeoutMs),
    maxPauseMs: duration('maxPause', spec.maxPause, defaults.maxPauseMs),
    retry:
      retry === false
        ? undefined
        : {
            attempts: retry?.attempts ?? defaults.retry.attempts,
            baseMs: duration('retry.base', retry?.base, defaults.retry.baseMs),
            maxMs: duration('retry.max', retry?.max, defaults.retry.maxMs),
            budgetPercent: retry?.budgetPercent ?? defaults.retry.budgetPercent,
            floorPerSecond: retry?.floorPerSecond ?? defaults.retry.floorPerSecond,
          },
    breaker: breaker
      ? {
          failures: breaker.failures ?? defaults.breaker.failures,
          cooldownMs: duration('breaker.cooldown', breaker.cooldown, defaults.breaker.cooldownMs),
        }
      : undefined,
    onStoreFailure: spec.onStoreFailure ?? 'closed',
    vendor: spec.vendor,
    weights: spec.weights ?? {},
  }
}

function readArrival(value: UpstreamSpec['arrival'], path: string, report: Report): CompiledUpstream['arrival'] {
  return value === undefined || value === 'auto' || value === 'response'
    ? (value ?? 'auto')
    : (readDuration(value, path, report) ?? 0)
}

/** More calls than can be granted within the longest wait need not queue. */
function mostUseful(limits: readonly UpstreamLimit[], maxWaitMs: number): number {
  const served = limits
    .filter(({ periodMs, unit }) => periodMs > 0 && unit === 'requests')
    .map(({ amount, periodMs }) => Math.ceil((amount * maxWaitMs) / periodMs))
  return Math.max(1, Math.min(defaults.maxQueue, ...served))
}

function readLimits(spec: UpstreamSpec, path: string, report: Report): readonly UpstreamLimit[] {
  const { limits: given, concurrency } = spec
  const list = given === undefined ? [] : Array.isArray(given) ? (given as readonly UpstreamLimitSpec[]) : [given]
  const limits = list.flatMap((one, index) =>
    readOne(one as UpstreamLimitSpec, Array.isArray(given) ? `${path}.limits[${index}]` : `${path}.limits`, report),
  )
  if (concurrency !== undefined)
    limits.push({ name: 'concurrency', key: 'in-flight', amount: concurrency, periodMs: 0, unit: 'requests' })
  const keys = limits.map(({ key }) => key)
  const twice = limits.find(({ key }, index) => keys.indexOf(key) !== index)
  if (twice)
    report(`${path}.limits`, given, `two limits count ${twice.unit} per ${formatDuration(twice.periodMs)}; keep one`)
  return limits
}

function readOne(spec: UpstreamLimitSpec, path: string, report: Report): UpstreamLimit[] {
  const short = shortForms.filter(({ name }) => spec[name] !== undefined)
  if (short.length > 0 && (spec.amount !== undefined || spec.per !== undefined)) {
    report(path, spec, `amount and per belong to the long form; write them without ${short[0]!.name}, in a list`)
    return []
  }
  if (short.length > 0)
    return short.flatMap(({ name, per }) => make(spec[name]!, per, spec.name ?? name, spec, path, report))
  if (spec.amount === undefined) {
    report(path, spec, 'give rps, rpm, rph or rpd, or amount and per')
    return []
  }
  return make(spec.amount, spec.per, spec.name, spec, path, report)
}

function make(
  amount: number,
  per: UpstreamLimitSpec['per'],
  name: string | undefined,
  spec: UpstreamLimitSpec,
  path: string,
  report: Report,
): UpstreamLimit[] {
  if (per === undefined) {
    report(`${path}.per`, per, 'say per how long, such as 1s, 15m or 1d')
    return []
  }
  const periodMs = durationOr(0, per, `${path}.per`, report)
  if (periodMs < 10 || periodMs > maxPeriodMs) {
    report(`${path}.per`, per, 'use a period from 10ms to 400d')
    return []
  }
  const unit = spec.unit ?? 'requests'
  return [{ name: name ?? `per-${formatDuration(periodMs)}`, key: `${unit}/${periodMs}`, amount, periodMs, unit }]
}

function durationOr(otherwise: number, value: unknown, path: string, report: Report): number {
  return value === undefined ? otherwise : (readDuration(value, path, report) ?? otherwise)
}

/** Makes all upstreams of a policy ready; names and addresses must be unique. */
export function compileUpstreams(specs: readonly UpstreamSpec[], report: Report): readonly CompiledUpstream[] {
  const upstreams = specs.map((spec, index) => compileUpstream(spec, `upstreams[${index}]`, report))
  for (const [index, { name, origin, pathPrefix }] of upstreams.entries()) {
    const before = upstreams.slice(0, index)
    if (before.some((other) => other.name === name))
      report(`upstreams[${index}].name`, name, 'another upstream has this name; give it its own')
    if (origin !== '' && before.some((other) => other.origin === origin && other.pathPrefix === pathPrefix))
      report(`upstreams[${index}].origin`, specs[index]!.origin, 'another upstream has this address; merge the two')
  }
  return upstreams
}
