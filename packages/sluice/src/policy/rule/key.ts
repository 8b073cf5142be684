import { isIgnoredPromise } from '../../core/ignored-promise.ts'
import { type KeyPart, maxParts } from '../../core/key.ts'
import type { KeyAlternative, KeyFunction, KeySpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'
import type { RequestView } from '../request-view.ts'
import { compileSelector } from '../selector/compile-selector.ts'
import type { Selector } from '../selector/selector.ts'
import { textOf } from '../selector/text-of.ts'
import { type Alternative, bySelectors, keyOf, malformed, type RuleKey } from './rule-key.ts'

/** Functions that a document can name as `fn:name`. */
export type KeyFunctions = Readonly<Record<string, KeyFunction>>

/** Finds a function by its name; for those who check a document away from the code that has the functions. */
export type KeyFunctionLookup = (name: string) => KeyFunction | undefined

/** Compiles `key`. */
export function compileKey(
  spec: KeySpec,
  path: string,
  functions: KeyFunctions | KeyFunctionLookup,
  report: Report,
): RuleKey {
  const numbered = typeof spec === 'object' && 'first' in spec
  const specs = numbered ? spec.first : [spec as KeyAlternative]
  const alternatives = specs.map((one, i) =>
    compileAlternative(one, numbered ? `${path}.first[${i}]` : path, functions, report),
  )
  return keyOf(alternatives, numbered)
}

/**
 * A key that a policy names, as the parts of the subject that requests with this key have. Undefined when no request
 * could have it. Requests carry text, so `42` in the policy means the text.
 */
export function partsOfSubject(key: RuleKey | undefined, parts: readonly KeyPart[]): readonly KeyPart[] | undefined {
  if (parts.some((part) => typeof part === 'number' && !Number.isFinite(part))) return undefined
  if (!key) return parts
  if (!key.numbered) return fits(key.alternatives[0]!, parts) ? asRead(key.alternatives[0]!, parts) : undefined
  const [index, ...rest] = parts
  const alternative = typeof index === 'number' ? key.alternatives[index] : undefined
  const read = alternative && rest.length > 0 && fits(alternative, rest) ? asRead(alternative, rest) : undefined
  return read && [index!, ...read]
}

/** What a SHA-256 looks like: an override may name a key by it, so that the secret stands in no document. */
const hashed = /^[0-9a-f]{64}$/

/** The parts as the selectors would read them, transforms applied; undefined when no request could have them. */
function asRead({ selectors }: Alternative, parts: readonly KeyPart[]): readonly string[] | undefined {
  const read = parts.map((part, i) => {
    const selector = selectors?.[i]
    const text = String(part)
    if (!selector || selector.plain || (hashed.test(text) && /\|\s*hash\b/.test(selector.text))) return text
    return selector.finish(text)
  })
  return read.includes(undefined) ? undefined : (read as string[])
}

function fits({ selectors }: Alternative, parts: readonly KeyPart[]): boolean {
  return (selectors === undefined || selectors.length === parts.length) && parts.every((part) => part !== '')
}

function findFunction(functions: KeyFunctions | KeyFunctionLookup, name: string): KeyFunction | undefined {
  if (typeof functions === 'function') return functions(name)
  return Object.hasOwn(functions, name) ? functions[name] : undefined
}

/** Stands in for what was refused; anything could be its key. */
const refused = byFunction(() => null, 'a key')

function compileAlternative(
  spec: KeyAlternative,
  path: string,
  functions: KeyFunctions | KeyFunctionLookup,
  report: Report,
): Alternative {
  if (typeof spec === 'function') return byFunction(spec, 'a key')
  if (typeof spec === 'string' && spec.startsWith('fn:')) {
    const name = spec.slice(3)
    const known = findFunction(functions, name)
    if (typeof known === 'function') return byFunction(known, spec)
    report(path, spec, `no function of that name was given; known are ${Object.keys(functions).join(', ') || 'none'}`)
    return refused
  }
  const texts = typeof spec === 'string' ? [spec] : (spec as readonly string[])
  const selectors = texts.map(compileSelector)
  let ok = true
  for (const [i, selector] of selectors.entries()) {
    const wrong = typeof selector === 'string' ? selector : selector.root === 'key' && 'a key cannot be made of itself'
    if (!wrong) continue
    ok = false
    report(typeof spec === 'string' ? path : `${path}[${i}]`, texts[i], wrong)
  }
  return ok ? bySelectors(selectors as Selector[]) : refused
}

/**
 * A function that returns what cannot be part of a key leaves the request without this key; `onMissing` says what then.
 * One that throws, or answers with a promise, has failed: such requests share a bucket, as a client may know how to
 * make it throw.
 */
function byFunction(find: KeyFunction, name: string): Alternative {
  const call = (request: RequestView): unknown => {
    const result: unknown = find(request)
    if (isIgnoredPromise(result)) throw new TypeError('a promise; it has to answer at once')
    return result
  }
  return {
    selectors: undefined,
    readShared: (request) => {
      try {
        call(request)
        return undefined
      } catch {
        return [malformed]
      }
    },
    read: (request) => {
      try {
        return partsOf(call(request))
      } catch {
        return undefined
      }
    },
    lacking: (request) => {
      try {
        return partsOf(call(request)) ? '' : `${name} from its function`
      } catch (error) {
        return `${name}, because its function threw ${error instanceof Error ? error.message : String(error)}`
      }
    },
  }
}

function partsOf(result: unknown): readonly string[] | undefined {
  const list: readonly unknown[] = Array.isArray(result) ? result : [result]
  if (list.length === 0 || list.length > maxParts - 1) return undefined
  const parts = list.map(textOf)
  return parts.includes(undefined) ? undefined : (parts as string[])
}
