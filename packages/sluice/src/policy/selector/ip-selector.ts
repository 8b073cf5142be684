import type { RequestView } from '../request-view.ts'
import type { Selector } from './selector.ts'
import { partOfRequest, textOf, textsOf, unreadable } from './text-of.ts'

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
