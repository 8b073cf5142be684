import type { RequestView } from '../request-view.ts'
import type { SelectorRoot } from './parse-selector.ts'
import { partOfRequest, textOf, textsOf, unreadable } from './text-of.ts'

/** What the pattern of a rule's path captured: `values[i]` under `names[i]`. */
export interface Captured {
  readonly names: readonly string[]
  readonly values: readonly string[]
}

/** Reads one text out of a request. */
export interface Selector {
  readonly text: string
  readonly root: SelectorRoot
  /** The field, where the root has fields. */
  readonly path: readonly string[]
  /** `key`: which part. */
  readonly part: number
  /** The value, or undefined when the request has none. Never throws. */
  read(request: RequestView, captured: Captured | undefined): string | undefined
  /** Whether the field is there at all, of whatever type. */
  has(request: RequestView): boolean
  /**
   * Whether there is a value that identifies no subject: of the wrong type, empty, or repeated with different values.
   */
  isMalformed(request: RequestView, captured: Captured | undefined): boolean
  /** Whether the part of the request with this field could not be read: the field may then have any value, or none. */
  isUnreadable(request: RequestView): boolean
  /** All texts of a field that comes several times, where `read` finds none. */
  texts(request: RequestView): readonly string[]
  /** Whether it is a source alone, without defaults and transforms. */
  readonly plain: boolean
  /** What the steps make of a source that was read elsewhere. */
  finish(value: string | undefined): string | undefined
}

/** The address of the client: by far the most common key, and the only bare source that an adapter computes. */
export const ipSelector: Selector = {
  text: 'ip',
  root: 'ip',
  path: [],
  part: Number.NaN,
  read: addressOf,
  has: (request) => (partOfRequest(request, 'ip') ?? undefined) !== undefined,
  isMalformed: (request) => addressOf(request) === undefined && partOfRequest(request, 'ip') !== undefined,
  isUnreadable: (request) => partOfRequest(request, 'ip') === unreadable,
  texts: (request) => textsOf(partOfRequest(request, 'ip')),
  plain: true,
  finish: (value) => value,
}

function addressOf(request: RequestView): string | undefined {
  try {
    return textOf(request.ip)
  } catch {
    return undefined
  }
}
