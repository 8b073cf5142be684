import { nulIn } from './descriptor.ts'
import type { Findings } from './findings.ts'
import { type Unit, unitSeconds } from './units.ts'

/** One descriptor of a configuration, checked. */
export interface EnvoyNode {
  /** Its file and where it stands there, for messages. */
  readonly place: string
  readonly key: string
  /** Undefined: any value. One with a star is a pattern. */
  readonly value: string | undefined
  /** Whether all values that fit the pattern have one counter. */
  readonly shared: boolean
  readonly limit:
    | { readonly unit: Unit; readonly amount: number; readonly name: string | undefined }
    | 'unlimited'
    | undefined
  readonly shadow: boolean
  readonly quota: boolean
  /** Names of limits that do not count beside this one. */
  readonly replaces: readonly string[]
  readonly children: readonly EnvoyNode[]
}

const rootFields = ['domain', 'descriptors']
const nodeFields = ['key', 'value', 'rate_limit', 'descriptors', 'shadow_mode', 'quota_mode', 'share_threshold']
const limitFields = ['unit', 'requests_per_unit', 'unlimited', 'name', 'replaces']
/** These change no decision. */
const decoration: Readonly<Record<string, string>> = {
  detailed_metric: 'it concerns metrics only',
  value_to_metric: 'it concerns metrics only',
  metadata: 'it is for filters of the proxy only',
}
/** The largest amount of Envoy's limits. */
const maxAmount = 2 ** 32 - 1

/** A whole configuration, checked. */
export interface EnvoyConfig {
  /** Empty when there is none, which was then reported. */
  readonly domain: string
  readonly nodes: readonly EnvoyNode[]
}

/** Reads a configuration that was parsed. */
export function readConfig(value: unknown, found: Findings): EnvoyConfig {
  const given = (typeof value === 'object' && value !== null ? value : {}) as Record<string, unknown>
  refuseUnknown(given, rootFields, '', found)
  const domain = typeof given.domain === 'string' ? given.domain : ''
  if (domain === '') found.problem('domain', given.domain, 'give the domain, as text')
  return { domain, nodes: readNodes(given.descriptors, 'descriptors', found) }
}

/** Reads a list of descriptors, and those nested in them. */
function readNodes(value: unknown, path: string, found: Findings): EnvoyNode[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) {
    found.problem(path, value, 'use a list of descriptors')
    return []
  }
  const nodes = value.map((each, index) => readNode(each, `${path}[${index}]`, found))
  found.problems.push(...duplicatesIn(nodes))
  return nodes
}

/** Descriptors with the key and the value of one before them. */
export function duplicatesIn(nodes: readonly EnvoyNode[]): string[] {
  const seen = new Map<string, string>()
  return nodes.flatMap(({ place, key, value }) => {
    const id = JSON.stringify([key, value])
    const other = seen.get(id)
    seen.set(id, place)
    return other === undefined ? [] : [`${place} is ${id}; ${other} has the same key and value; keep one of them`]
  })
}

function readNode(value: unknown, path: string, found: Findings): EnvoyNode {
  const isObject = typeof value === 'object' && value !== null
  if (!isObject) found.problem(path, value, 'use a descriptor such as { key: path }')
  const given = (isObject ? value : { key: 'none' }) as Record<string, unknown>
  refuseUnknown(given, nodeFields, `${path}.`, found)
  const limit = readLimit(given.rate_limit, `${path}.rate_limit`, found)
  const text = readText(given.value, `${path}.value`, found)
  if (text?.includes('*') && nulIn(text))
    found.problem(`${path}.value`, text, 'a pattern has no character U+0000; leave it out')
  const shared = readFlag(given.share_threshold, `${path}.share_threshold`, found)
  if (shared && !text?.includes('*'))
    found.problem(`${path}.share_threshold`, true, 'only a value with a star is shared; write one, or leave it out')
  return {
    place: found.placeOf(path),
    key: readKey(given.key, `${path}.key`, found),
    value: text,
    shared,
    limit,
    shadow: readFlag(given.shadow_mode, `${path}.shadow_mode`, found),
    quota: readFlag(given.quota_mode, `${path}.quota_mode`, found),
    replaces: readReplaces(given.rate_limit, `${path}.rate_limit`, found),
    children: readNodes(given.descriptors, `${path}.descriptors`, found),
  }
}

function readKey(value: unknown, path: string, found: Findings): string {
  const key = readText(value, path, found) ?? ''
  if (key === '') found.problem(path, value, 'give the key, as text')
  if (key.includes('"') && key.includes("'")) found.problem(path, key, 'use at most one kind of quotation mark')
  if (key.includes('*')) found.problem(path, key, 'a key has no star; write it in the value')
  return key
}

/** A text; undefined for none, an empty one or what is no text. */
function readText(value: unknown, path: string, found: Findings): string | undefined {
  if (typeof value === 'object' && value !== null) return found.problem(path, value, 'use text')
  return (value as string | null | undefined) || undefined
}

/** True or false, in the words of YAML 1.1: those are what Go knows. */
function readFlag(value: unknown, path: string, found: Findings): boolean {
  const text = String(value ?? 'false')
  if (/^(y|yes|true|on)$/i.test(text)) return true
  if (!/^(n|no|false|off)$/i.test(text)) found.problem(path, value, 'use true or false')
  return false
}

function readLimit(value: unknown, path: string, found: Findings): EnvoyNode['limit'] {
  if (value === undefined || value === null) return undefined
  const given = value as Record<string, unknown>
  refuseUnknown(given, limitFields, `${path}.`, found)
  const name = readText(given.name, `${path}.name`, found)
  if (readFlag(given.unlimited, `${path}.unlimited`, found)) {
    if (given.unit !== undefined || given.requests_per_unit !== undefined)
      found.problem(path, given, 'what is unlimited has neither unit nor requests_per_unit')
    return 'unlimited'
  }
  const unit = String(given.unit ?? '').toUpperCase()
  if (!(unit in unitSeconds))
    found.problem(`${path}.unit`, given.unit, `use one of ${Object.keys(unitSeconds).join(', ').toLowerCase()}`)
  const amount = /^(0|[1-9]\d{0,9})$/.test(String(given.requests_per_unit)) ? Number(given.requests_per_unit) : -1
  if (amount < 0 || amount > maxAmount)
    found.problem(
      `${path}.requests_per_unit`,
      given.requests_per_unit,
      `use a whole number up to ${maxAmount}, in decimal digits`,
    )
  return { unit: unit as Unit, amount, name }
}

function readReplaces(limit: unknown, path: string, found: Findings): readonly string[] {
  const { name: own, replaces: value = [] } = (limit ?? {}) as Record<string, unknown>
  if (value === null) return []
  const at = `${path}.replaces`
  const list = Array.isArray(value) ? value : found.problem(at, value, 'use a list such as [{ name: other }]')
  return (list ?? []).flatMap((each: unknown, index) => {
    const { name, ...others } = (typeof each === 'object' && each !== null ? each : {}) as Record<string, unknown>
    const isName = typeof name === 'string' && name !== '' && Object.keys(others).length === 0
    if (isName && name !== own) return [name]
    found.problem(
      `${at}[${index}]`,
      each,
      isName ? 'it is the name of this limit; name another' : 'use the name of another limit: { name: other }',
    )
    return []
  })
}

/** Reports the fields that are not known here: left out, they could change a decision. */
function refuseUnknown(given: object, known: readonly string[], before: string, found: Findings): void {
  for (const [field, value] of Object.entries(given)) {
    const path = `${before}${field}`
    if (known.includes(field)) continue
    if (Object.hasOwn(decoration, field)) found.warn(path, `was left out: ${decoration[field]}.`)
    else found.problem(path, value, `this is not supported; known are ${known.join(', ')}`)
  }
}
