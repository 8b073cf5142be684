import type { IncomingMessage } from 'node:http'
import type { RequestView } from 'sluice'
import { pathOf, queryOf } from 'sluice/http'
import { HttpProblem } from '../problem.ts'

/** The two families of headers in which proxies describe the request they ask about. */
const families = {
  'x-original': { method: 'x-original-method', target: 'x-original-uri' },
  'x-forwarded': { method: 'x-forwarded-method', target: 'x-forwarded-uri' },
} as const

export type HeaderFamily = keyof typeof families
export const headerFamilies: readonly HeaderFamily[] = ['x-original', 'x-forwarded']

/** As much of a request as a proxy describes. */
export type Described = Pick<RequestView, 'method' | 'path' | 'query'>

const methodShape = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/
/**
 * Some proxies and apps resolve `/a/../b`, also in its encoded spellings, and some do not: no rule could be right for
 * both.
 */
const dotSegment = /(^|\/|%2f|\\|%5c)(\.|%2e){1,2}(\/|%2f|\\|%5c|;|$)/i
const targetShape = /^(\/|\*$|https?:\/\/)/i

/**
 * The request that a proxy asks about. A proxy overwrites the headers of its own family and passes the others on as the
 * client sent them, so the operator names the family. Where none is named, both are read and must not contradict each
 * other: a client could choose which rules it meets otherwise.
 */
export function originalRequest(incoming: IncomingMessage, family: HeaderFamily | undefined): Described {
  const read = family === undefined ? headerFamilies : [family]
  const found = read.map((each) => describedBy(incoming, each))
  const methods = new Set(found.map(({ method }) => method).filter((each) => each !== undefined))
  const targets = new Set(found.map(({ target }) => target).filter((each) => each !== undefined))
  if (methods.size > 1 || targets.size > 1)
    throw new HttpProblem(400, 'X-Original-* and X-Forwarded-* contradict each other; name one with ?headers=.')
  // Of half a pair, the other half could be the client's.
  const whole = found.find(({ method, target }) => method !== undefined && target !== undefined)
  const { method, target } = whole ?? {}
  if (method === undefined || target === undefined) {
    const names = read.map((each) => `${families[each].method} and ${families[each].target}`).join(', or ')
    throw new HttpProblem(400, `The proxy must send ${names}.`)
  }
  if (!methodShape.test(method) || !targetShape.test(target))
    throw new HttpProblem(400, 'The headers of the proxy do not hold the method and the target of a request.')
  const path = pathOf(target)
  if (dotSegment.test(path))
    throw new HttpProblem(400, 'The target has dot segments, which clients resolve themselves.')
  return { method, path, query: queryOf(target) }
}

function describedBy(
  incoming: IncomingMessage,
  family: HeaderFamily,
): { readonly method: string | undefined; readonly target: string | undefined } {
  const one = (name: string): string | undefined => {
    const values = incoming.headersDistinct[name]
    if (values !== undefined && values.length > 1)
      throw new HttpProblem(400, `${name} is there ${values.length} times.`)
    return values?.[0]
  }
  const { method, target } = families[family]
  return { method: one(method), target: one(target) }
}
