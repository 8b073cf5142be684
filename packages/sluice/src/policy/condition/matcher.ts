import { didYouMean } from '../../core/did-you-mean.ts'
import type { MatchSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import type { RequestView } from '../request-view.ts'
import { type Condition, compileConditions } from './condition.ts'
import type { Lists } from './lists.ts'
import { isServed, knownMethods } from './methods.ts'
import { type PathPattern, parsePattern } from './path-pattern.ts'

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
