import { didYouMean } from '../../core/did-you-mean.ts'
import type { ConditionSpec, MatchSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import type { RequestView } from '../request-view.ts'
import { compileSelector } from '../selector/compile-selector.ts'
import type { Selector } from '../selector/selector.ts'
import { compileTest, type FieldTest } from './field-test.ts'
import type { Lists } from './lists.ts'
import { type PathPattern, parsePattern } from './path-pattern.ts'
import { compileTime } from './time-window.ts'

/** The methods of HTTP itself, for suggestions. */
const knownMethods: readonly string[] = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'CONNECT',
  'QUERY',
]

// What Node's server lets through besides, and what is registered with IANA.
const extensions = new Set(
  (
    'ACL BASELINE-CONTROL BIND CHECKIN CHECKOUT COPY LABEL LINK LOCK M-SEARCH MERGE MKACTIVITY MKCALENDAR MKCOL ' +
    'MKREDIRECTREF MKWORKSPACE MOVE NOTIFY ORDERPATCH PROPFIND PROPPATCH PURGE REBIND REPORT SEARCH SOURCE SUBSCRIBE ' +
    'UNBIND UNCHECKOUT UNLINK UNLOCK UNSUBSCRIBE UPDATE UPDATEREDIRECTREF VERSION-CONTROL'
  ).split(' '),
)

/**
 * The method of descriptors of Envoy's rate limit service, which the daemon serves. The rules that name it are a group:
 * of those that match a descriptor only the first is charged, so that special ones go before general ones.
 */
export const descriptorMethod = 'RLS'

/** Whether servers know a method, which is in upper case. */
export function isServed(method: string): boolean {
  return knownMethods.includes(method) || extensions.has(method) || method === descriptorMethod
}

/** Which requests a rule applies to, compiled. */
export interface Matcher {
  /** In upper case; undefined for any. */
  readonly methods: ReadonlySet<string> | undefined
  /** Undefined for any. */
  readonly patterns: readonly PathPattern[] | undefined
  readonly conditions: readonly Condition[]
}

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,40}$/

const none: readonly Condition[] = []

/** Compiles `match`; a rule without it applies to every request. */
export function compileMatch(spec: MatchSpec | undefined, path: string, lists: Lists, report: Report): Matcher {
  const conditions = spec === undefined ? none : compileConditions(spec, path, lists, report)
  return {
    methods: spec?.method === undefined ? undefined : compileMethods(spec.method, `${path}.method`, report),
    patterns: spec?.path === undefined ? undefined : compilePatterns(spec.path, `${path}.path`, report),
    conditions: conditions.length === 0 ? none : conditions,
  }
}

/** Whether a request has one of the methods; those of most requests are in upper case already. */
export function hasMethod(methods: ReadonlySet<string> | undefined, request: RequestView): boolean {
  if (!methods || methods.has(request.method)) return true
  return typeof request.method === 'string' && methods.has(request.method.toUpperCase())
}

function compileMethods(spec: string | readonly string[], path: string, report: Report): ReadonlySet<string> {
  const methods = new Set<string>()
  for (const [method, at] of listed(spec, path)) {
    const meant = isServed(method.toUpperCase()) ? '' : didYouMean(method.toUpperCase(), knownMethods)
    if (!token.test(method)) report(at, method, 'use a method such as GET or POST')
    else if (meant) report(at, method, `no such method; ${meant}known are ${knownMethods.join(', ')}`)
    methods.add(method.toUpperCase())
  }
  // Frameworks answer HEAD with the handler of GET: it costs as much.
  if (methods.has('GET')) methods.add('HEAD')
  return methods
}

function compilePatterns(spec: string | readonly string[], path: string, report: Report): readonly PathPattern[] {
  return listed(spec, path).flatMap(([text, at]) => {
    const pattern = parsePattern(text)
    if (typeof pattern === 'string') report(at, text, pattern)
    return typeof pattern === 'string' ? [] : pattern
  })
}

/** One text or several, each with where it is written. */
function listed(value: string | readonly string[], path: string): readonly (readonly [text: string, path: string])[] {
  return typeof value === 'string' ? [[value, path]] : value.map((text, i) => [text, `${path}[${i}]`])
}

/** What one field of a request, or the time, must be. */
interface Condition {
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
function compileConditions(spec: MatchSpec, path: string, lists: Lists, report: Report): readonly Condition[] {
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
