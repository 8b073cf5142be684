import { maxPeriodMs } from '../../core/algorithms/limit.ts'
import { type Duration, formatDuration, parseDuration } from '../../core/duration.ts'
import type { BlockTerms } from '../../core/engine/block.ts'
import { type SluiceError } from '../../core/errors.ts'
import type { BlockSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'

const dayMs = 86_400_000

/** Compiles `block` of a rule, and reports what makes no sense. */
export function compileBlock(spec: BlockSpec, path: string, report: Report): BlockTerms {
  const { after = 1, grow = 1, count: counts = 'denials' } = spec
  const ms = (field: 'for' | 'within' | 'max', otherwise: Duration): number => {
    const value = spec[field] ?? otherwise
    try {
      const length = parseDuration(value, field)
      if (length >= 1 && length <= maxPeriodMs) return length
      report(`${path}.${field}`, value, `use a time from 1ms to ${formatDuration(maxPeriodMs)}`)
    } catch (error) {
      report(`${path}.${field}`, value, (error as SluiceError).message.replace(/^.*; /, ''))
    }
    return dayMs
  }
  const forMs = ms('for', dayMs)
  const maxMs = ms('max', Math.max(forMs, dayMs))
  if (after > 1 && spec.within === undefined)
    report(`${path}.within`, spec.within, `say within what time ${after} of them lead to a block, such as 1m`)
  if (maxMs < forMs) report(`${path}.max`, spec.max, 'the longest block cannot be shorter than the first')
  if (spec.max !== undefined && grow === 1) report(`${path}.max`, spec.max, 'only with grow do blocks become longer')
  return { after, withinMs: ms('within', dayMs), forMs, grow, maxMs, counts }
}
