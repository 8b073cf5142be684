import type { ConditionSpec, MatchSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import type { RequestView } from '../request-view.ts'
import { compileSelector } from '../selector/compile-selector.ts'
import type { Selector } from '../selector/selector.ts'
import { compileTest, type FieldTest } from './field-test.ts'
import type { Lists } from './lists.ts'
import { compileTime } from './time-window.ts'

/** What one field of a request, or the time, must be. */
export interface Condition {
  /** Undefined for a condition on the time. */
  readonly selector: Selector | undefined
  /** The values it may have; undefined for every other kind of condition. */
  readonly values: ReadonlySet<string> | undefined
  /** True also where the field could not be read, as it may be what is wanted: nobody gets around a rule that way. */
  holds(request: RequestView, nowMs: number): boolean
  /** What is wanted, in words. */
  readonly wanted: string
  /** Whether the time matters to it. */
  readonly dated: boolean
}

const roots = ['headers', 'query', 'body', 'cookies', 'context'] as const

/** Makes the conditions of `match`, in the order in which they are cheap to look at. */
export function compileConditions(spec: MatchSpec, path: string, lists: Lists, report: Report): readonly Condition[] {
  const fields = roots.flatMap((root) =>
    Object.entries(spec[root] ?? {}).map(([field, wanted]) => [`${root}.${field}`, wanted] as const),
  )
  const bare = (['ip', 'host'] as const).flatMap((root) => {
    const wanted = spec[root]
    return wanted === undefined ? [] : [[root, wanted] as const]
  })
  const conditions = [...fields, ...bare].flatMap(([text, wanted]) => {
    const at = `${path}.${text}`
    const selector = compileSelector(text)
    if (typeof selector !== 'string' && selector.plain)
      return compileCondition(selector, wanted, at, lists, report) ?? []
    report(at, wanted, typeof selector === 'string' ? selector : 'name a field, without defaults and transforms')
    return []
  })
  if (spec.time === undefined) return conditions
  const { holds, wanted } = compileTime(spec.time, `${path}.time`, report)
  const time: Condition = {
    ...{ selector: undefined, values: undefined, wanted, dated: true },
    holds: (_, nowMs) => holds(nowMs),
  }
  return [...conditions, time]
}

function compileCondition(
  selector: Selector,
  spec: ConditionSpec,
  path: string,
  lists: Lists,
  report: Report,
): Condition | undefined {
  const test = compileTest(spec, path, { lists, isAddress: selector.root === 'ip', report })
  if (!test) return undefined
  return {
    selector,
    values: test.values,
    holds: test.values
      ? hasOneOf(test, test.values, selector)
      : (request, nowMs) => holdsFor(test, selector, request, nowMs),
    wanted: `${selector.text} ${test.wanted}`,
    dated: test.dated,
  }
}

/** Most conditions are values, and most fields have a text: these two are looked up at once. */
function hasOneOf(test: FieldTest, values: ReadonlySet<string>, selector: Selector): Condition['holds'] {
  return (request, nowMs) => {
    const text = selector.read(request, undefined)
    return text === undefined ? holdsFor(test, selector, request, nowMs) : values.has(text)
  }
}

/** Of a field that comes several times, a handler may take any. */
function holdsFor(test: FieldTest, selector: Selector, request: RequestView, nowMs: number): boolean {
  const text = selector.read(request, undefined)
  if (text !== undefined) return test.of(text, true, nowMs) !== false
  if (selector.isUnreadable(request)) return true
  const texts = selector.texts(request)
  if (texts.length > 0) return texts.some((each) => test.of(each, true, nowMs) !== false)
  return test.of(undefined, selector.has(request), nowMs) !== false
}
