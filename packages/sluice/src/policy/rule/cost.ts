import { maxUnits } from '../../core/algorithms/limit.ts'
import { show } from '../../core/errors.ts'
import { isIgnoredPromise } from '../../core/ignored-promise.ts'
import { warnOnce } from '../../core/observe/warn-once.ts'
import type { CostMapSpec, RuleSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import type { RequestView } from '../request-view.ts'
import { compileSelector } from '../selector/compile-selector.ts'
import type { Captured, Selector } from '../selector/selector.ts'

/** How many units a request spends. */
export type CostReader = (request: RequestView, captured: Captured | undefined) => number

export interface CompiledCost {
  readonly read: CostReader
  /** What it is read with, where it is read from the request. */
  readonly selector: Selector | undefined
  /** Whether it depends on the request: what the request really costs is known later. */
  readonly isEstimate: boolean
}

/**
 * Compiles `cost`. One that is read from a request is rounded up to a whole number from 1 to 10^13, so that a fraction
 * or a huge number is not cheaper; what is no number at all, or is missing, costs the selector's default, else 1.
 */
export function compileCost(
  { name, cost: spec }: Pick<RuleSpec, 'name' | 'cost'>,
  path: string,
  report: Report,
): CompiledCost {
  if (spec === undefined || spec === 1) return { read: one, selector: undefined, isEstimate: false }
  if (typeof spec === 'number') return { read: () => spec, selector: undefined, isEstimate: false }
  if (typeof spec === 'object') return byMap(spec, path, report)
  if (typeof spec === 'function') return { read: byFunction(spec, name), selector: undefined, isEstimate: true }
  const selector = compileSelector(spec)
  if (typeof selector === 'string' || selector.root === 'key') {
    report(path, spec, typeof selector === 'string' ? selector : 'a cost cannot come from the key')
    return { read: () => 1, selector: undefined, isEstimate: true }
  }
  const otherwise = selector.finish(undefined)
  const fallback = otherwise === undefined ? 1 : unitsOf(otherwise)
  if (fallback === undefined) report(path, spec, `its default ${JSON.stringify(otherwise)} is not a number`)
  return {
    read: (request, captured) => unitsOf(selector.read(request, captured)) ?? fallback ?? 1,
    selector,
    isEstimate: true,
  }
}

const one: CostReader = () => 1

/** What a request costs by its kind, such as the model it asks for. It is a price, not an estimate. */
function byMap({ by, map, default: otherwise = 1 }: CostMapSpec, path: string, report: Report): CompiledCost {
  const selector = compileSelector(by)
  if (typeof selector === 'string' || selector.root === 'key') {
    report(`${path}.by`, by, typeof selector === 'string' ? selector : 'a cost cannot come from the key')
    return { read: one, selector: undefined, isEstimate: false }
  }
  const costs = new Map(Object.entries(map))
  return {
    read: (request, captured) => costs.get(selector.read(request, captured) ?? '') ?? otherwise,
    selector,
    isEstimate: false,
  }
}

const decimal = /^\d{1,400}(?:\.\d{1,400})?(?:e\+?\d{1,4})?$/i

function unitsOf(value: unknown): number | undefined {
  const number = typeof value === 'string' && decimal.test(value) ? Number(value) : value
  if (typeof number !== 'number' || Number.isNaN(number) || number < 0) return undefined
  return Math.min(maxUnits, Math.max(1, Math.ceil(number)))
}

/** A function that fails costs 1 and cannot break a decision; whoever wrote it is told once. */
function byFunction(cost: (request: RequestView) => number, rule: string): CostReader {
  const warn = warnOnce('SLUICE_COST_FAILED')
  const failed = (how: string): number => {
    warn(`The cost function of the rule ${rule} ${how}, so the request costs 1.`)
    return 1
  }
  return (request) => {
    try {
      const units: unknown = cost(request)
      if (isIgnoredPromise(units)) return failed('returned a promise and has to answer at once')
      return unitsOf(units) ?? failed(`returned ${show(units)}, which is no number from 0`)
    } catch (error) {
      return failed(`threw ${error instanceof Error ? `${error.name}: ${error.message}` : show(error)}`)
    }
  }
}
