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

/** A configuration that does not make sense, or asks for something that Sluice does not do. */
export class InvalidEnvoyConfig extends SluiceError {
  constructor(path: string, value: unknown, message: string) {
    super('SLUICE_INVALID_POLICY', `Envoy configuration refused: ${path} is ${JSON.stringify(value)}; ${message}`)
  }
}

const nodeFields = ['key', 'value', 'rate_limit', 'descriptors', 'shadow_mode']
const limitFields = ['unit', 'requests_per_unit', 'unlimited', 'name']
/** These change metrics, and no decision. */
const harmless = ['detailed_metric', 'value_to_metric']

/** Reads a list of descriptors, and those nested in them. */
export function readNodes(value: unknown, path: string, warnings: string[]): EnvoyNode[] {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value)) throw new InvalidEnvoyConfig(path, value, 'use a list of descriptors')
  const nodes = value.map((each, index) => readNode(each, `${path}[${index}]`, warnings))
  const seen = new Set<string>()
  for (const [index, node] of nodes.entries()) {
    const id = JSON.stringify([node.key, node.value])
    if (seen.has(id))
      throw new InvalidEnvoyConfig(`${path}[${index}]`, node.key, 'another descriptor has the same key and value')
    seen.add(id)
  }
  return nodes
}

function readNode(value: unknown, path: string, warnings: string[]): EnvoyNode {
  if (typeof value !== 'object' || value === null)
    throw new InvalidEnvoyConfig(path, value, 'use a descriptor such as { key: path }')
  const given = value as Record<string, unknown>
  refuseUnknown(given, nodeFields, path, warnings)
  if (typeof given.key !== 'string' || given.key === '')
    throw new InvalidEnvoyConfig(`${path}.key`, given.key, 'give the key, as text')
  if (given.key.includes('"') && given.key.includes("'"))
    throw new InvalidEnvoyConfig(`${path}.key`, given.key, 'use at most one kind of quotation mark')
  return {
    key: given.key,
    value: readValue(given.value, `${path}.value`),
    limit: readLimit(given.rate_limit, `${path}.rate_limit`, warnings),
    shadow: given.shadow_mode === true,
    children: readNodes(given.descriptors, `${path}.descriptors`, warnings),
  }
}

function readValue(value: unknown, path: string): string | undefined {
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value === 'object') throw new InvalidEnvoyConfig(path, value, 'use text')
  const text = String(value)
  if (text.endsWith('*'))
    throw new InvalidEnvoyConfig(
      path,
      text,
      'prefixes with a star are not supported; list the values, or leave the value out',
    )
  return text
}

function readLimit(value: unknown, path: string, warnings: string[]): EnvoyNode['limit'] {
  if (value === undefined || value === null) return undefined
  const given = value as Record<string, unknown>
  refuseUnknown(given, limitFields, path, warnings)
  if (given.unlimited === true) return 'unlimited'
  const unit = String(given.unit ?? '').toUpperCase()
  if (!(unit in unitSeconds))
    throw new InvalidEnvoyConfig(
      `${path}.unit`,
      given.unit,
      `use one of ${Object.keys(unitSeconds).join(', ').toLowerCase()}`,
    )
  const amount = given.requests_per_unit
  if (!Number.isSafeInteger(amount) || (amount as number) < 0)
    throw new InvalidEnvoyConfig(`${path}.requests_per_unit`, amount, 'use a whole number')
  return { unit: unit as Unit, amount: amount as number, name: typeof given.name === 'string' ? given.name : undefined }
}

function refuseUnknown(
  given: Record<string, unknown>,
  known: readonly string[],
  path: string,
  warnings: string[],
): void {
  for (const field of Object.keys(given)) {
    if (known.includes(field)) continue
    if (!harmless.includes(field))
      throw new InvalidEnvoyConfig(
        `${path}.${field}`,
        given[field],
        `this is not supported; known are ${known.join(', ')}`,
      )
    warnings.push(`${path}.${field} was left out: it concerns metrics only.`)
  }
}
