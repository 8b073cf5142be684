import type { Key, KeyPart, RequestView } from 'sluice'
import { identity, pathOf, queryOf } from 'sluice/http'
import { HttpProblem } from './problem.ts'

/** What to decide on: a key of a rule, or a request that rules are matched against. */
export type CheckInput =
  | {
      readonly key: Key
      readonly rule: string | undefined
      readonly tier: string | undefined
      readonly cost: number | undefined
    }
  | { readonly request: RequestView; readonly cost: number | undefined }

/** Most checks in one call. */
export const maxChecks = 1000

const requestFields = new Set(['method', 'path', 'route', 'headers', 'query', 'body', 'ip'])
/** The one spelling of an address: with another, a client would have another bucket than through an adapter. */
const spelled = identity()

const checkFields = new Set(['key', 'request', 'rule', 'tier', 'cost'])

/** Reads `{ key, rule, tier, cost }` or `{ request, cost }`. `more` names fields that the route reads itself. */
export function readCheck(value: unknown, path = '', more?: ReadonlySet<string>): CheckInput {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(path, 'must be an object')
  const input = value as Record<string, unknown>
  for (const field in input) {
    if (!checkFields.has(field) && !more?.has(field)) throw unknownField(path, field, [...checkFields, ...(more ?? [])])
  }
  const { cost } = input
  if (cost !== undefined && typeof cost !== 'number') throw wrong(join(path, 'cost'), 'must be a whole number of units')
  if (input.request !== undefined) {
    const beside = ['key', 'rule', 'tier'].find((field) => input[field] !== undefined)
    if (beside !== undefined)
      throw wrong(join(path, beside), 'cannot stand beside request, which rules are matched against')
    return { request: readRequest(input.request, join(path, 'request')), cost }
  }
  if (input.key === undefined) throw wrong(path, 'must have a key, such as "user:1", or a request')
  return {
    key: readKey(input.key, join(path, 'key')),
    rule: readText(input.rule, join(path, 'rule')),
    tier: readText(input.tier, join(path, 'tier')),
    cost,
  }
}

/** Reads a key: a text, or a list of parts. */
function readKey(value: unknown, path: string): Key {
  if (typeof value === 'string') return value
  if (Array.isArray(value)) {
    for (const part of value) {
      if (typeof part !== 'string' && typeof part !== 'number' && typeof part !== 'boolean')
        throw wrong(path, 'must have parts that are texts, numbers or booleans')
    }
    return value as KeyPart[]
  }
  throw wrong(path, 'must be a text, or a list of parts')
}

/** Reads a request as rules see it; only what is there is checked. */
export function readRequest(value: unknown, path = 'request'): RequestView {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw wrong(path, 'must be an object such as { "method": "GET", "path": "/" }')
  const given = value as Record<string, unknown>
  // A rule that does not find what it reads may be skipped, so a field with a spelling mistake would go around it.
  for (const field in given) if (!requestFields.has(field)) throw unknownField(path, field, [...requestFields])
  const target = readText(given.path, `${path}.path`) ?? '/'
  const query = given.query ?? (target.includes('?') ? queryOf(target) : undefined)
  if (query !== undefined && !isFields(query)) throw wrong(`${path}.query`, 'must be an object')
  const ip = readText(given.ip, `${path}.ip`)
  return {
    method: readText(given.method, `${path}.method`) ?? 'GET',
    path: pathOf(target),
    headers: readHeaders(given.headers, `${path}.headers`),
    query,
    body: given.body,
    ip: spelled(ip, {}) ?? ip,
    route: readText(given.route, `${path}.route`),
  }
}

function readHeaders(value: unknown, path: string): Record<string, string | readonly string[]> {
  const headers: Record<string, string | readonly string[]> = Object.create(null)
  if (value === undefined) return headers
  if (!isFields(value)) throw wrong(path, 'must be an object')
  for (const [name, line] of Object.entries(value)) {
    const isText = typeof line === 'string' || (Array.isArray(line) && line.every((each) => typeof each === 'string'))
    if (!isText) throw wrong(`${path}.${name}`, 'must be a text or a list of texts')
    headers[name.toLowerCase()] = line as string | string[]
  }
  return headers
}

/** A text that may be left out. */
export function readText(value: unknown, path: string): string | undefined {
  if (value === undefined || typeof value === 'string') return value
  throw wrong(path, 'must be a text')
}

/** A whole number that may be left out. */
export function readWhole(value: unknown, path: string): number | undefined {
  if (value === undefined || Number.isSafeInteger(value)) return value as number | undefined
  throw wrong(path, 'must be a whole number')
}

/** Units, or units by the names of rules. */
export function readUnits(value: unknown, path: string): number | Readonly<Record<string, number>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return readWhole(value, path)
  for (const [rule, units] of Object.entries(value)) {
    if (!Number.isSafeInteger(units)) throw wrong(join(path, rule), 'must be a whole number')
  }
  return value as Readonly<Record<string, number>>
}

/** A list is no object here: its numbers would be taken for names, and no rule finds those. */
function isFields(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function unknownField(path: string, field: string, known: readonly string[]): HttpProblem {
  return wrong(join(path, field), `is not known; known are ${known.join(', ')}`)
}

function join(path: string, field: string): string {
  return path === '' ? field : `${path}.${field}`
}

function wrong(path: string, message: string): HttpProblem {
  return new HttpProblem(400, `${path === '' ? 'The body' : path} ${message}.`)
}
