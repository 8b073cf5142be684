import type { RequestView } from 'sluice'
import { identity, pathOf, queryOf } from 'sluice/http'
import type * as z from 'zod'
import type { AskedKey, AskedRequest } from '../../recent/replay/request-ring.ts'
import type { BatchCheck, Request } from '../../shapes/decisions.ts'
import { HttpProblem } from '../problem.ts'

/** What to decide on: a key of a rule, or a request that rules are matched against. */
export type CheckInput = AskedKey | AskedRequest

/** The one spelling of an address: with another, a client would have another bucket than through an adapter. */
const spelled = identity()

/** Holds an input to its shape. Throws what is wrong first, by its path: `checks[0].key must be a text ...`. */
export function readInput<Shape extends z.ZodType>(shape: Shape, value: unknown, path = ''): z.infer<Shape> {
  const read = shape.safeParse(value)
  if (read.success) return read.data
  const issue = innermost(read.error.issues[0]!)
  const where = [...issue.path, ...(issue.code === 'unrecognized_keys' ? issue.keys.slice(0, 1) : [])]
  throw new HttpProblem(400, `${where.reduce(join, path) || 'The body'} ${issue.message}.`)
}

/** Of an input that fits none of several shapes, what is wrong inside the one that it resembles. */
function innermost(issue: z.core.$ZodIssue): z.core.$ZodIssue {
  const inner = issue.code === 'invalid_union' ? issue.errors.flat().find(({ path }) => path.length > 0) : undefined
  return inner === undefined ? issue : innermost({ ...inner, path: [...issue.path, ...inner.path] })
}

function join(path: string, step: PropertyKey): string {
  if (typeof step === 'number') return `${path}[${step}]`
  return path === '' ? String(step) : `${path}.${String(step)}`
}

/** What a check asks about. */
export function checkInput({ key, request, rule, tier, class: of, cost }: BatchCheck): CheckInput {
  return request === undefined ? { key: key!, rule, tier, class: of, cost } : { request: viewOf(request), cost }
}

/** A request as rules see it, in the way in which adapters read theirs. */
export function viewOf({
  method = 'GET',
  path: target = '/',
  headers = {},
  query,
  body,
  ip,
  route,
  context,
}: Request): RequestView {
  const named: Record<string, string | readonly string[]> = Object.create(null)
  for (const [name, line] of Object.entries(headers)) named[name.toLowerCase()] = line
  return {
    method,
    path: pathOf(target),
    headers: named,
    query: query ?? (target.includes('?') ? queryOf(target) : undefined),
    body,
    ip: spelled(ip, {}) ?? ip,
    route,
    context,
  }
}
