import { isZone } from '../../core/algorithms/calendar-period.ts'
import { type AlgorithmName, type Limit, maxConcurrency, maxPeriodMs } from '../../core/algorithms/limit.ts'
import { formatDuration, parseDuration } from '../../core/duration.ts'
import { maxLimitsPerRule } from '../../core/engine/limit-set.ts'
import { SluiceError, show } from '../../core/errors.ts'
import type { LimitSpec, LimitsSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import { shortForms } from './short-forms.ts'

/** What a rule says for all its limits. */
export interface LimitDefaults {
  readonly algorithm?: AlgorithmName | undefined
  readonly burst?: number | undefined
}

/** Makes the limits of one spec from the limit that it states; undefined where that was a mistake. */
export type Spread = (limit: Limit | undefined, spec: LimitSpec, path: string, report: Report) => readonly Limit[]

const asItIs: Spread = (limit) => (limit === undefined ? [] : [limit])

const calendarUnits = ['day', 'week', 'month'] as const
const longestMs = { day: 90_000_000, week: 608_400_000, month: 2_682_000_000 }
const longForm = ['amount', 'per', 'name'] as const

/**
 * Makes the limits of a rule, a tier or an override whose shape is already checked, and reports what makes no sense.
 * `spread` is `withPace` where limits can be paced.
 */
export function readLimits(
  spec: Exclude<LimitsSpec, string>,
  path: string,
  defaults: LimitDefaults,
  report: Report,
  spread: Spread = asItIs,
): readonly Limit[] {
  const list = Array.isArray(spec) ? (spec as readonly LimitSpec[]) : undefined
  const limits = list
    ? list.flatMap((one, index) => readOne(one, `${path}[${index}]`, defaults, report, spread))
    : readOne(spec as LimitSpec, path, defaults, report, spread)
  const names = limits.map((limit) => limit.name)
  const twice = names.find((name, index) => names.indexOf(name) !== index)
  if (twice) report(path, spec, `two limits are called ${show(twice)}; give one of them another name`)
  if (limits.length > maxLimitsPerRule) report(path, spec, `use at most ${maxLimitsPerRule} limits`)
  return limits
}

function readOne(
  spec: LimitSpec,
  path: string,
  defaults: LimitDefaults,
  report: Report,
  spread: Spread,
): readonly Limit[] {
  const short = shortForms.filter(({ name }) => spec[name] !== undefined)
  if (short.length > 0) {
    const mixed = longForm.find((field) => spec[field] !== undefined)
    if (mixed) {
      report(
        `${path}.${mixed}`,
        spec[mixed],
        `it belongs to the long form; write it without ${short[0]!.name}, in a list`,
      )
      return []
    }
    return short.flatMap(({ name, per }) => {
      const unit = (spec.algorithm ?? defaults.algorithm) === 'calendar' && name === 'rpd' ? 'day' : per
      return spread(
        readLong({ ...spec, amount: spec[name], per: unit, name }, path, name, defaults, report),
        spec,
        path,
        report,
      )
    })
  }
  if (spec.amount === undefined) {
    report(path, spec, 'give rps, rpm, rph or rpd, or amount and per')
    return []
  }
  return spread(readLong(spec, path, 'amount', defaults, report), spec, path, report)
}

/** Reads one limit in long form; `field` is where its amount is written. */
function readLong(
  spec: LimitSpec,
  path: string,
  field: string,
  defaults: LimitDefaults,
  report: Report,
): Limit | undefined {
  let ok = true
  const wrong: Report = (...issue) => {
    ok = false
    report(...issue)
  }
  const { amount = 0, per, zone, align } = spec
  const unit = calendarUnits.find((name) => name === per)
  const algorithm = spec.algorithm ?? defaults.algorithm ?? (unit ? 'calendar' : 'fixed-window')
  if (algorithm === 'concurrency') {
    if (per !== undefined) wrong(`${path}.per`, per, 'a concurrency limit counts what is in flight and has no period')
    if (amount > maxConcurrency) wrong(`${path}.${field}`, amount, `use at most ${maxConcurrency} for concurrency`)
  } else if (algorithm === 'calendar') {
    if (!unit) wrong(`${path}.per`, per, 'a calendar limit needs per: day, week or month')
    if (zone !== undefined && !isZone(zone)) wrong(`${path}.zone`, zone, 'use an IANA zone such as Europe/Berlin')
  } else if (unit) {
    wrong(
      `${path}.per`,
      per,
      `a ${unit} of the calendar needs algorithm: calendar; for ${algorithm} write a length such as 1d`,
    )
  }
  const periodMs = unit ? longestMs[unit] : algorithm === 'concurrency' ? 0 : readPeriod(per, `${path}.per`, wrong)
  if (zone !== undefined && algorithm !== 'calendar') wrong(`${path}.zone`, zone, 'only calendar limits have a zone')
  if (align !== undefined && algorithm !== 'fixed-window')
    wrong(`${path}.align`, align, 'only fixed-window limits can be aligned')
  if (spec.burst !== undefined && algorithm !== 'gcra')
    wrong(`${path}.burst`, spec.burst, 'only gcra limits have a burst')
  const burst = algorithm === 'gcra' ? (spec.burst ?? defaults.burst ?? amount) : amount
  const intervalUs = algorithm === 'gcra' && ok ? readInterval(amount, periodMs, burst, `${path}.${field}`, wrong) : 0
  if (!ok) return undefined
  return {
    name: spec.name ?? (algorithm === 'concurrency' ? 'concurrency' : `per-${unit ?? formatDuration(periodMs)}`),
    algorithm,
    amount,
    periodMs,
    burst,
    intervalUs,
    aligned: align === 'clock',
    calendar: unit,
    zone: algorithm === 'calendar' ? (zone ?? 'UTC') : undefined,
    pace: undefined,
    share: undefined,
  }
}

function readPeriod(per: LimitSpec['per'], path: string, wrong: Report): number {
  if (per === undefined) {
    wrong(path, per, 'say per how long, such as 1s, 15m or 1d')
    return 0
  }
  try {
    const ms = parseDuration(per, path)
    if (ms >= 1 && ms <= maxPeriodMs) return ms
    wrong(path, per, 'use a period from 1ms to 400d')
  } catch (error) {
    if (!(error instanceof SluiceError)) throw error
    wrong(path, per, `${error.message.replace(`${path} is ${show(per)}; `, '')}, from 1ms to 400d`)
  }
  return 0
}

// `gcra` keeps time in whole microseconds: a rate that would come out more than a tenth too low is refused rather than
// bent, and so is a bucket that takes so long to fill that its time could leave the exact integers.
function readInterval(amount: number, periodMs: number, burst: number, path: string, wrong: Report): number {
  const periodUs = periodMs * 1000
  if (amount === 0) {
    wrong(path, amount, 'gcra needs at least 1; to deny everything use fixed-window')
    return 0
  }
  const intervalUs = Math.ceil(periodUs / amount)
  if (intervalUs * amount > periodUs * 1.1) {
    wrong(
      path,
      amount,
      `gcra spends in whole microseconds; use at most ${Math.floor(periodUs / 10)}, or another algorithm`,
    )
  } else if (burst * intervalUs > maxPeriodMs * 10_000) {
    wrong(
      path,
      amount,
      `with a burst of ${burst}, gcra would take more than 4000d to recover; use a smaller burst or a shorter period`,
    )
  }
  return intervalUs
}
