import { cookieOf, hostOf } from '../../core/from-headers.ts'
import { type RequestView, unreadableBody } from '../request-view.ts'
import { type ParsedSelector, parseSelector, type SelectorRoot } from './parse-selector.ts'
import { canonicalPath } from './path-spellings.ts'
import type { Captured, Selector } from './selector.ts'
import { ipSelector } from './selector.ts'
import {
  type HasField,
  instanceField,
  ownField,
  partOfRequest as part,
  textOf,
  textOfRepeated,
  textsOf,
  unreadable,
  valueAt,
} from './text-of.ts'

/** Makes a selector, or returns what is wrong with it. */
export function compileSelector(text: string): Selector | string {
  if (text === 'ip') return ipSelector
  const parsed = parseSelector(text)
  if (typeof parsed === 'string') return parsed
  const source = sourceOf(parsed)
  const finish = finisherOf(parsed)
  return {
    text,
    root: parsed.root,
    path: parsed.path,
    part: Number(parsed.path[0]),
    read: finish ? (request, captured) => finish(source(request, captured)) : source,
    has: (request) => isThere(parsed, request),
    isMalformed: (request, captured) => source(request, captured) === undefined && isSet(parsed, request, captured),
    isUnreadable: (request) => isUnreadable(parsed.root, part(request, partOf(parsed.root))),
    texts: (request) => textsOf(rawValue(parsed, request)),
    plain: finish === undefined,
    finish: finish ?? ((value) => value),
  }
}

type Source = (request: RequestView, captured: Captured | undefined) => string | undefined

function sourceOf({ root, path, constant }: ParsedSelector): Source {
  switch (root) {
    case 'const':
      return () => constant
    case 'key':
      return () => undefined
    case 'headers':
      return (request) => headerText(request, path[0]!)
    case 'cookies':
      return (request) => textOfRepeated(cookieOf(part(request, 'headers'), path[0]!))
    case 'host':
      return (request) => hostOf(part(request, 'headers'))
    case 'params':
      return (request, captured) => textOf(valueAt(part(request, 'params'), path)) ?? capturedText(captured, path)
    case 'query':
      return (request) => textOfRepeated(valueAt(part(request, root), path))
    case 'body':
    case 'context':
      return (request) => textOf(valueAt(part(request, root), path, fieldsOf(root)))
    case 'ip':
      return ipSelector.read
    case 'path':
      return (request) => pathText(part(request, 'path'))
    default:
      return (request) => textOf(part(request, root))
  }
}

/** The context is the service's own, and may hold instances of classes; all else comes from outside. */
function fieldsOf(root: ParsedSelector['root']): HasField {
  return root === 'context' ? instanceField : ownField
}

function isThere(parsed: ParsedSelector, request: RequestView): boolean {
  const value = rawValue(parsed, request)
  return value !== undefined && value !== null
}

/**
 * Whether the field was set at all: `null` and empty text were. Of a body that was not taken apart, and of a part that
 * threw when it was read, any field may have been.
 */
function isSet(parsed: ParsedSelector, request: RequestView, captured: Captured | undefined): boolean {
  if (isUnreadable(parsed.root, part(request, partOf(parsed.root))) || rawValue(parsed, request) !== undefined)
    return true
  return parsed.root === 'params' && (captured?.names.includes(parsed.path[0]!) ?? false)
}

/** Whether a part threw, or is a body that was not taken apart. */
function isUnreadable(root: SelectorRoot, whole: unknown): boolean {
  return whole === unreadable || (root === 'body' && (whole === unreadableBody || isRaw(whole)))
}

/** Text, bytes, or a stream of them, which the handler may parse. */
function isRaw(body: unknown): boolean {
  if (typeof body === 'string' || ArrayBuffer.isView(body)) return true
  const { pipe, getReader } = (body ?? {}) as { pipe?: unknown; getReader?: unknown }
  return typeof (pipe ?? getReader) === 'function'
}

function rawValue({ root, path }: ParsedSelector, request: RequestView): unknown {
  const whole = part(request, partOf(root))
  if (root === 'cookies') return cookieOf(whole, path[0]!)
  return root === 'host' ? hostOf(whole) : valueAt(whole, path, fieldsOf(root))
}

/** The part of a request that a root is read from. */
function partOf(root: SelectorRoot): keyof RequestView {
  return root === 'cookies' || root === 'host' ? 'headers' : (root as keyof RequestView)
}

function finisherOf({ steps }: ParsedSelector): ((value: string | undefined) => string | undefined) | undefined {
  if (steps.length === 0) return undefined
  return (value) => {
    let text = value
    for (const step of steps) {
      if ('missing' in step) text ??= step.missing
      else if (text !== undefined) text = step.transform(text)
    }
    return text
  }
}

/** Spellings that lead to the same handler are one subject. */
function pathText(path: unknown): string | undefined {
  return typeof path === 'string' ? canonicalPath(path) : undefined
}

function capturedText(captured: Captured | undefined, path: readonly string[]): string | undefined {
  const index = captured && path.length === 1 ? captured.names.indexOf(path[0]!) : -1
  return index < 0 ? undefined : textOf(captured!.values[index])
}

/** A header as one text; lines of the same name are joined as HTTP joins them (RFC 9110, 5.3). */
function headerText(request: RequestView, name: string): string | undefined {
  const value = valueAt(part(request, 'headers'), [name])
  if (!Array.isArray(value)) return typeof value === 'string' ? textOf(value) : undefined
  return value.every((line) => typeof line === 'string') ? textOf(value.join(', ')) : undefined
}
