import type { Steps } from '../steps.ts'
import type { OverrideSpec, PolicyDocument, RuleSpec } from './document.ts'
import { mostIssues, type Report } from './policy-error.ts'
import { listsSchema, overrideSchema, policySchema, ruleFields, ruleSchema, tiersSchema } from './schema/schema.ts'
import { checkShape } from './schema/schema-issues.ts'

/** Shorter lists of rules and overrides are checked with the rest of the document. */
const long = 64

/**
 * Checks the shape of a document, its long lists of rules and overrides one by one. Mistakes go to `report`; what is
 * right is kept.
 */
export function* checkDocument(document: unknown, report: Report): Steps<PolicyDocument> {
  const rules = rulesOf(document)
  const lists = longOverrides(rules)
  if (lists.size === 0 && rules.length <= long) return yield* checkWhole(document, [], report)
  const short = lists.size === 0 ? rules : rules.map((rule, r) => (lists.has(r) ? { ...rule, overrides: [] } : rule))
  const checked = yield* checkWhole({ ...(document as object), rules: short.slice(0, long) }, short.slice(long), report)
  const overrides = new Map<number, OverrideSpec[]>()
  for (const [r, list] of lists) {
    const good: OverrideSpec[] = []
    for (const [i, override] of list.entries()) {
      const one = checkShape(overrideSchema, override, `rules[${r}].overrides[${i}]`, report)
      if (one) good.push(one)
      if (i % long === 0) yield
    }
    overrides.set(r, good)
  }
  const withOverrides = (rule: RuleSpec, r: number): RuleSpec =>
    overrides.has(r) ? { ...rule, overrides: overrides.get(r)! } : rule
  return { ...checked, rules: (checked.rules ?? []).map(withOverrides) }
}

/** Checks a document, and the rules that follow its own. */
function* checkWhole(document: unknown, rest: readonly object[], report: Report): Steps<PolicyDocument> {
  let mistakes = 0
  const counted: Report = (...mistake) => {
    mistakes++
    report(...mistake)
  }
  const checked = checkShape(policySchema, document, '', counted)
  const rules: RuleSpec[] = []
  for (const [i, rule] of rest.entries()) {
    if (mistakes >= mostIssues) break
    const one = checkShape(ruleSchema, rule, `rules[${i + long}]`, counted)
    if (one) rules.push(one)
    yield
  }
  if (checked !== undefined && mistakes === 0) return rest.length === 0 ? checked : withRules(checked, rules)
  // With the list full, there is no use in looking for mistakes of meaning.
  const all = rest.length === 0 ? document : withRules(document as PolicyDocument, rest as readonly RuleSpec[])
  return yield* salvageDocument(mistakes < mostIssues ? all : undefined)
}

function withRules(document: PolicyDocument, more: readonly RuleSpec[]): PolicyDocument {
  return { ...document, rules: [...(document.rules ?? []), ...more] }
}

function rulesOf(document: unknown): readonly RuleSpec[] {
  const rules: unknown = typeof document === 'object' && document !== null && 'rules' in document && document.rules
  return Array.isArray(rules) ? rules : []
}

function longOverrides(rules: readonly RuleSpec[]): ReadonlyMap<number, readonly unknown[]> {
  const lists = new Map<number, readonly unknown[]>()
  for (const [r, rule] of rules.entries()) {
    const list: unknown = typeof rule === 'object' && rule !== null ? rule.overrides : undefined
    if (Array.isArray(list) && list.length > long) lists.set(r, list)
  }
  return lists
}

/**
 * What is left of a document of the wrong shape when everything of the wrong shape is taken out. It is never put in
 * force: reading it finds the mistakes of meaning beside those of shape, so that one look lists them all.
 */
function* salvageDocument(document: unknown): Steps<PolicyDocument> {
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
