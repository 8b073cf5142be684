import type { Steps } from '../steps.ts'
import type { PolicyDocument, RuleSpec } from './document.ts'
import { listsSchema, ruleFields, tiersSchema } from './schema/schema.ts'

/**
 * What is left of a document of the wrong shape when everything of the wrong shape is taken out. It is never put in
 * force: reading it finds the mistakes of meaning beside those of shape, so that one look lists them all.
 */
export function* salvageDocument(document: unknown): Steps<PolicyDocument> {
  const fields = fieldsOf(document)
  const tiers = tiersSchema.safeParse(fields.tiers)
  const rules = Array.isArray(fields.rules) ? fields.rules : []
  const lists = listsSchema.safeParse(fields.lists)
  const salvaged: RuleSpec[] = []
  for (const [index, rule] of rules.entries()) {
    salvaged.push(salvageRule(rule, index))
    yield
  }
  return { service: 'refused', tiers: tiers.data, lists: lists.data, rules: salvaged }
}

function salvageRule(rule: unknown, index: number): RuleSpec {
  const fields = fieldsOf(rule)
  // No rule can have this name, so that it is not reported as given twice.
  const kept: Record<string, unknown> = { name: `#${index}` }
  for (const [name, schema] of Object.entries(ruleFields)) {
    const result = Object.hasOwn(fields, name) ? schema.safeParse(fields[name]) : undefined
    if (result?.success) kept[name] = result.data
    // Others build upon these two: stand-ins keep them from complaining as well.
    else if (result && name === 'key') kept.key = () => null
    else if (result && name === 'tier') Object.assign(kept, { tier: 'const:free', tiers: undefined })
  }
  return kept as unknown as RuleSpec
}

function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
