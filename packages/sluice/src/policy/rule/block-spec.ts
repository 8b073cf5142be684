import { maxPeriodMs } from '../../core/algorithms/limit.ts'
import type { Duration } from '../../core/duration.ts'
import type { BlockTerms } from '../../core/engine/block.ts'
import type { BlockSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import { readDuration } from '../document/read-duration.ts'

const dayMs = 86_400_000

/** Compiles `block` of a rule, and reports what makes no sense. */
export function compileBlock(spec: BlockSpec, path: string, report: Report): BlockTerms {
  const { after = 1, grow = 1, count: counts = 'denials' } = spec
  const ms = (field: 'for' | 'within' | 'max', otherwise: Duration): number =>
    readDuration(spec[field] ?? otherwise, `${path}.${field}`, report, { most: maxPeriodMs }) ?? dayMs
  const forMs = ms('for', dayMs)
  const maxMs = ms('max', Math.max(forMs, dayMs))
  if (after > 1 && spec.within === undefined)
    report(`${path}.within`, spec.within, `say within what time ${after} of them lead to a block, such as 1m`)
  if (maxMs < forMs) report(`${path}.max`, spec.max, 'the longest block cannot be shorter than the first')
  if (spec.max !== undefined && grow === 1) report(`${path}.max`, spec.max, 'only with grow do blocks become longer')
  return { after, withinMs: ms('within', dayMs), forMs, grow, maxMs, counts }
}
