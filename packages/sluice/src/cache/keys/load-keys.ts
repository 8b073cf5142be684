import { checkOptionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import { defineKeys, type KeyMaker, key } from './define-keys.ts'

/** One name of keys as configuration, in the form of a list of data sources. */
export interface KeyDocument {
  /** The name by which the service looks it up. */
  readonly schemaId: string
  /** The parts of a key, in order. */
  readonly fields: readonly string[]
  /** How long a value is fresh; 0 or null means that it never expires. */
  readonly cacheTtlSeconds: number | null
  /** The name in Redis; the `schemaId` when left out. */
  readonly prefix?: string
}

const known = ['schemaId', 'fields', 'cacheTtlSeconds', 'prefix']

/**
 * Makes keys from configuration: one TTL per data source.
 *
 * @example
 * const keys = loadKeys([{ schemaId: 'price', fields: ['assetId'], cacheTtlSeconds: 60, prefix: 'px' }])
 * keys.price!('XLM')
 */
export function loadKeys(documents: readonly KeyDocument[]): Readonly<Record<string, KeyMaker>> {
  const keys: Record<string, KeyMaker> = Object.create(null)
  documents.forEach((document, index) => {
    const where = `keys[${index}]`
    checkOptionNames(where, document, known)
    const { schemaId, fields, cacheTtlSeconds: seconds, prefix } = document
    if (typeof schemaId !== 'string' || schemaId === '' || schemaId in keys)
      throw invalidOption(`${where}.schemaId`, schemaId, 'use a text that no other data source has')
    if (!Array.isArray(fields) || !fields.every((field) => typeof field === 'string'))
      throw invalidOption(`${where}.fields`, fields, 'use an array of names')
    if (seconds !== null && !(typeof seconds === 'number' && Number.isFinite(seconds) && seconds >= 0))
      throw invalidOption(`${where}.cacheTtlSeconds`, seconds, 'use a number of seconds, or null for ever')
    const ttl = seconds === null || seconds === 0 ? 'forever' : Math.max(1, Math.round(seconds * 1000))
    keys[schemaId] = key(prefix ?? schemaId, fields, { ttl }) as KeyMaker
  })
  return defineKeys(keys as Record<string, KeyMaker<never>>) as Readonly<Record<string, KeyMaker>>
}
