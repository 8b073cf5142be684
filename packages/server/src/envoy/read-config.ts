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

/** What reading has found so far. */
export class Findings {
  readonly problems: string[] = []
  /** What was left out because it changes no decision. */
  readonly warnings: string[] = []

  problem(path: string, value: unknown, message: string): undefined {
    this.problems.push(`${path} is ${JSON.stringify(value)}; ${message}`)
  }
}

const nodeFields = ['key', 'value', 'rate_limit', 'descriptors', 'shadow_mode']
const limitFields = ['unit', 'requests_per_unit', 'unlimited', 'name']
/** These change metrics, and no decision. */
const harmless = ['detailed_metric', 'value_to_metric']

/** Reads a list of descriptors, and those nested in them. */
export function readNodes(value: unknown, path: string, found: Findings): EnvoyNode[] {
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
  refuseUnknown(given, nodeFields, path, found)
  const key = typeof given.key === 'string' ? given.key : ''
  if (key === '') found.problem(`${path}.key`, given.key, 'give the key, as text')
  if (key.includes('"') && key.includes("'"))
    found.problem(`${path}.key`, key, 'use at most one kind of quotation mark')
  return {
    key,
    value: readValue(given.value, `${path}.value`, found),
    limit: readLimit(given.rate_limit, `${path}.rate_limit`, found),
    shadow: given.shadow_mode === true,
    children: readNodes(given.descriptors, `${path}.descriptors`, found),
  }
}

function readValue(value: unknown, path: string, found: Findings): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'object') return found.problem(path, value, 'use text')
  const text = String(value)
  if (text.includes('*'))
    found.problem(path, text, 'values with a star are not supported; list the values, or leave the value out')
  return text
}

function readLimit(value: unknown, path: string, found: Findings): EnvoyNode['limit'] {
  if (value === undefined || value === null) return undefined
  const given = value as Record<string, unknown>
  refuseUnknown(given, limitFields, path, found)
  if (given.unlimited === true) {
    if (given.unit !== undefined || given.requests_per_unit !== undefined)
      found.problem(path, given, 'what is unlimited has neither unit nor requests_per_unit')
    return 'unlimited'
  }
  const unit = String(given.unit ?? '').toUpperCase()
  if (!(unit in unitSeconds))
    found.problem(`${path}.unit`, given.unit, `use one of ${Object.keys(unitSeconds).join(', ').toLowerCase()}`)
  const amount = given.requests_per_unit
  if (!Number.isSafeInteger(amount) || (amount as number) < 0)
    found.problem(`${path}.requests_per_unit`, amount, 'use a whole number')
  return { unit: unit as Unit, amount: amount as number, name: typeof given.name === 'string' ? given.name : undefined }
}

function refuseUnknown(given: Record<string, unknown>, known: readonly string[], path: string, found: Findings): void {
  for (const field of Object.keys(given)) {
    if (known.includes(field)) continue
    if (!harmless.includes(field))
      found.problem(`${path}.${field}`, given[field], `this is not supported; known are ${known.join(', ')}`)
    else found.warnings.push(`${path}.${field} was left out: it concerns metrics only.`)
  }
}
