import { SluiceError } from 'sluice'
import { type Unit, unitSeconds } from './units.ts'

/** One descriptor of a configuration, checked. */
export interface EnvoyNode {
  readonly key: string
  /** Undefined: any value. */
  readonly value: string | undefined
  readonly limit:
    | { readonly unit: Unit; readonly amount: number; readonly name: string | undefined }
    | 'unlimited'
    | undefined
  readonly shadow: boolean
  readonly children: readonly EnvoyNode[]
}

/** A configuration that does not make sense, or asks for something that Sluice does not do; names every such place. */
export class InvalidEnvoyConfig extends SluiceError {
  constructor(problems: readonly string[]) {
    const list = problems.length === 1 ? ` ${problems[0]}` : problems.map((problem) => `\n  ${problem}`).join('')
    super('SLUICE_INVALID_POLICY', `Envoy configuration refused:${list}`)
  }
}

/** What reading a file has found so far. */
export class Findings {
  readonly problems: string[] = []
  /** What was left out because it changes no decision. */
  readonly warnings: string[] = []
  readonly #file: string

  constructor(file: string) {
    this.#file = file
  }

  problem(path: string, value: unknown, message: string): undefined {
    this.problems.push(`${this.#file}: ${path} is ${JSON.stringify(value)}; ${message}`)
  }

  warn(path: string, message: string): void {
    this.warnings.push(`${this.#file}: ${path} ${message}`)
  }
}

const rootFields = ['domain', 'descriptors']
const nodeFields = ['key', 'value', 'rate_limit', 'descriptors', 'shadow_mode']
const limitFields = ['unit', 'requests_per_unit', 'unlimited', 'name']
/** These change metrics, and no decision. */
const harmless = ['detailed_metric', 'value_to_metric']
/** These change nothing while they are off. */
const harmlessOff = ['quota_mode', 'share_threshold']
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
  const seen = new Set<string>()
  for (const [index, node] of nodes.entries()) {
    const id = JSON.stringify([node.key, node.value])
    if (seen.has(id)) found.problem(`${path}[${index}]`, node.key, 'another descriptor has the same key and value')
    seen.add(id)
  }
  return nodes
}

function readNode(value: unknown, path: string, found: Findings): EnvoyNode {
  const isObject = typeof value === 'object' && value !== null
  if (!isObject) found.problem(path, value, 'use a descriptor such as { key: path }')
  const given = (isObject ? value : { key: 'none' }) as Record<string, unknown>
  refuseUnknown(given, nodeFields, `${path}.`, found)
  const key = readText(given.key, `${path}.key`, found) ?? ''
  if (key === '') found.problem(`${path}.key`, given.key, 'give the key, as text')
  if (key.includes('"') && key.includes("'"))
    found.problem(`${path}.key`, key, 'use at most one kind of quotation mark')
  return {
    key,
    value: readValue(given.value, `${path}.value`, found),
    limit: readLimit(given.rate_limit, `${path}.rate_limit`, found),
    shadow: readFlag(given.shadow_mode, `${path}.shadow_mode`, found),
    children: readNodes(given.descriptors, `${path}.descriptors`, found),
  }
}

function readValue(value: unknown, path: string, found: Findings): string | undefined {
  const text = readText(value, path, found)
  if (text?.includes('*'))
    found.problem(path, text, 'values with a star are not supported; list the values, or leave the value out')
  return text
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
  return { unit: unit as Unit, amount, name: readText(given.name, `${path}.name`, found) }
}

/** Reports the fields that are not known here: left out, they could change a decision. */
function refuseUnknown(given: object, known: readonly string[], before: string, found: Findings): void {
  for (const [field, value] of Object.entries(given)) {
    const path = `${before}${field}`
    if (known.includes(field)) continue
    if (harmless.includes(field)) found.warn(path, 'was left out: it concerns metrics only.')
    else if (!harmlessOff.includes(field) || readFlag(value, path, found))
      found.problem(path, value, `this is not supported; known are ${known.join(', ')}`)
  }
}
