import * as z from 'zod'
import { maxUnits } from '../../core/algorithms/limit.ts'
import type { LimitSpec, PolicyDocument } from './document.ts'
import type { Report } from './policy-error.ts'
import { checkShape } from './schema/schema-issues.ts'

const rate = z.int().min(0).max(maxUnits).nullish()
const known = ['_id', 'last_updated', 'general_rate_limit', 'custom_rate_limits'].join(' ')
const knownRates = ['rps', 'rpm', 'rph', 'rpd'].join(' ')
const rates = z.strictObject(
  { rps: rate, rpm: rate, rph: rate, rpd: rate },
  { error: (issue) => (issue.code === 'unrecognized_keys' ? knownRates : undefined) },
)
const legacySchema = z.strictObject(
  {
    _id: z.string().min(1).max(200),
    __v: z.unknown().optional(),
    _class: z.unknown().optional(),
    last_updated: z.unknown().optional(),
    general_rate_limit: rates,
    custom_rate_limits: z.record(z.string(), rates).nullish(),
  },
  { error: (issue) => (issue.code === 'unrecognized_keys' ? known : undefined) },
)

/** Whether a document has `general_rate_limit` and `custom_rate_limits`, as in MongoDB, in place of rules. */
export function isLegacyDocument(document: unknown): boolean {
  if (typeof document !== 'object' || document === null || Object.hasOwn(document, 'rules')) return false
  return Object.hasOwn(document, 'general_rate_limit') || Object.hasOwn(document, 'custom_rate_limits')
}

/**
 * Reads `{ _id, last_updated, general_rate_limit, custom_rate_limits }` as what it meant: for the service `_id` one
 * rule, `default`, whose keys are the texts given to `take`; an exact match in the custom limits, else the general
 * ones; fixed windows from the first hit.
 */
export function readLegacyDocument(document: unknown, report: Report): PolicyDocument | undefined {
  const legacy = checkShape(legacySchema, document, '', report)
  if (!legacy) return undefined
  let complete = true
  const limitsOf = (given: z.infer<typeof rates>, path: string): LimitSpec => {
    const limits = Object.fromEntries(
      Object.entries(given).filter(([, amount]) => amount !== null && amount !== undefined),
    )
    if (Object.keys(limits).length === 0) {
      complete = false
      report(path, given, 'give at least one of rps, rpm, rph and rpd')
    }
    return limits
  }
  const limits = limitsOf(legacy.general_rate_limit, 'general_rate_limit')
  const overrides = Object.entries(legacy.custom_rate_limits ?? {}).map(([key, given]) => ({
    // Keys of the original form are exact: a star at the end is a part of the key.
    key: key.replace(/\*$/, '\\*'),
    limits: limitsOf(given, `custom_rate_limits.${key}`),
  }))
  if (!complete) return undefined
  return { service: legacy._id, rules: [{ name: 'default', limits, overrides }] }
}

/**
 * Takes off what a database adds to a document: `_id`, which names the service unless it does so itself,
 * `last_updated`, and what Mongoose (`__v`) and Spring (`_class`) write beside them. All other fields have a meaning or
 * are refused, as they may be misspelt ones.
 */
export function withoutDatabaseFields(document: unknown): unknown {
  if (typeof document !== 'object' || document === null || Array.isArray(document)) return document
  if (!Object.hasOwn(document, '_id') && !Object.hasOwn(document, 'last_updated')) return document
  const { _id, __v, _class, last_updated, ...rest } = document as Record<string, unknown>
  return typeof _id === 'string' && rest.service === undefined ? { ...rest, service: _id } : rest
}
