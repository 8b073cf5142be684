import { show } from '../../core/errors.ts'
import type { ConditionSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import type { RequestView } from '../request-view.ts'
import { compileSelector, type Selector } from '../selector/selector.ts'
import { textOf } from '../selector/text-of.ts'

/** What one field of a request must be. */
export interface Condition {
  readonly selector: Selector
  /** The values it may have; undefined when it only has to be there, or must not. */
  readonly values: ReadonlySet<string> | undefined
  /** True also where the field could not be read, as it may be what is wanted: nobody gets around a rule that way. */
  holds(request: RequestView): boolean
  /** What is wanted, in words. */
  readonly wanted: string
}

/** Makes the conditions on the headers, the query or the body. */
export function compileConditions(
  root: 'headers' | 'query' | 'body',
  specs: Readonly<Record<string, ConditionSpec>> | undefined,
  path: string,
  report: Report,
): readonly Condition[] {
  return Object.entries(specs ?? {}).flatMap(([field, spec]) => {
    const at = `${path}.${root}.${field}`
    const selector = compileSelector(`${root}.${field}`)
    if (typeof selector === 'string' || !selector.plain) {
      report(at, spec, typeof selector === 'string' ? selector : 'name a field, without defaults and transforms')
      return []
    }
    const condition = compileCondition(selector, spec)
    if (!condition) report(at, spec, 'use texts, numbers or booleans that are not empty')
    return condition ?? []
  })
}

function compileCondition(selector: Selector, spec: ConditionSpec): Condition | undefined {
  if (typeof spec === 'object' && 'exists' in spec) {
    const { exists } = spec
    return {
      selector,
      values: undefined,
      holds: (request) => selector.has(request) === exists || selector.isUnreadable(request),
      wanted: `${selector.text} ${exists ? 'to be there' : 'to be absent'}`,
    }
  }
  const texts = (Array.isArray(spec) ? spec : [spec]).map(textOf)
  if (texts.some((text) => text === undefined)) return undefined
  const values = new Set(texts as string[])
  return {
    selector,
    values,
    holds: (request) => {
      const text = selector.read(request, undefined)
      if (text !== undefined) return values.has(text)
      return selector.texts(request).some((each) => values.has(each)) || selector.isUnreadable(request)
    },
    wanted: `${selector.text} to be ${[...values].slice(0, 5).map(show).join(' or ')}${values.size > 5 ? ' or others' : ''}`,
  }
}
