import type { Inspection, LimitsSpec } from '../../api/shapes.ts'
import { formatExactly } from '../../format/time.ts'

/** One number of a key's limits that can be changed. */
export interface LimitField {
  /** The index of the limit, and its field: `0.rpm`. */
  readonly id: string
  readonly label: string
  readonly amount: number
}

type Spec = Readonly<Record<string, unknown>>

const labels: Readonly<Record<string, string>> = {
  rps: 'per second',
  rpm: 'per minute',
  rph: 'per hour',
  rpd: 'per day',
}

/** The numbers of the limits that a key has now. */
export function editableLimits(inspection: Inspection): readonly LimitField[] {
  return specsOf(inspection).flatMap((spec, i) =>
    Object.entries(spec).flatMap(([name, value]) => {
      if (typeof value !== 'number' || !(name in labels || name === 'amount')) return []
      const label = labels[name] ?? (typeof spec.per === 'string' ? `per ${spec.per}` : 'in flight')
      return [{ id: `${i}.${name}`, label, amount: value }]
    }),
  )
}

/** The same limits with other numbers; everything else about them stays. */
export function limitsOf(inspection: Inspection, amounts: Readonly<Record<string, string>>): LimitsSpec {
  const specs = specsOf(inspection).map((spec, i) =>
    Object.fromEntries(
      Object.entries(spec).map(([name, value]) => {
        const given = amounts[`${i}.${name}`]
        return [name, given === undefined ? value : Number(given)]
      }),
    ),
  )
  return specs.length === 1 ? specs[0]! : specs
}

/** Limits in a few words: `100 per minute, 5 in flight`. */
export function shortText(limits: LimitsSpec | null): string {
  if (typeof limits === 'string') return limits === 'deny' ? 'nothing' : 'unlimited'
  return [limits ?? []]
    .flat()
    .flatMap((spec: Spec) =>
      Object.entries(spec).flatMap(([name, value]) => {
        if (typeof value !== 'number') return []
        if (name in labels) return [`${value.toLocaleString('en')} ${labels[name]}`]
        if (name !== 'amount') return []
        return [`${value.toLocaleString('en')} ${typeof spec.per === 'string' ? `per ${spec.per}` : 'in flight'}`]
      }),
    )
    .join(', ')
}

/** As the policy writes them; where a tier provides them, as they are. */
function specsOf({ override, written, limits }: Inspection): readonly Spec[] {
  const spec = override?.limits ?? written
  if (typeof spec === 'string') return []
  if (spec !== null) return [spec].flat() as Spec[]
  return limits
    .filter(({ block }) => !block)
    .map(({ name, amount, windowMs }) => {
      if (windowMs === 0) return { name, amount, algorithm: 'concurrency' }
      return name in labels ? { [name]: amount } : { name, amount, per: per(windowMs) }
    })
}

function per(windowMs: number): string {
  return formatExactly(windowMs).replace(' min', 'm').replace(' ', '')
}
