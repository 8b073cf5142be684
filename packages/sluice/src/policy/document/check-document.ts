import type { Steps } from '../steps.ts'
import type { OverrideSpec, PolicyDocument, RuleSpec } from './document.ts'
import { mostIssues, type Report } from './policy-error.ts'
import { salvageDocument } from './salvage-document.ts'
import { overrideSchema, policySchema } from './schema/schema.ts'
import { checkShape } from './schema/schema-issues.ts'

/** Shorter lists of overrides are checked with the rest of the document. */
const long = 64

/**
 * Checks the shape of a document, its long lists of overrides one by one. Mistakes go to `report`; what is right is
 * kept.
 */
export function* checkDocument(document: unknown, report: Report): Steps<PolicyDocument> {
  const lists = longOverrides(document)
  if (lists.size === 0) return checkWhole(document, report)
  const rules = (document as { rules: readonly object[] }).rules
  const rest = {
    ...(document as object),
    rules: rules.map((rule, r) => (lists.has(r) ? { ...rule, overrides: [] } : rule)),
  }
  const checked = checkWhole(rest, report)
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

function checkWhole(document: unknown, report: Report): PolicyDocument {
  let mistakes = 0
  const counted: Report = (...mistake) => {
    mistakes++
    report(...mistake)
  }
  const checked = checkShape(policySchema, document, '', counted)
  if (checked !== undefined) return checked
  // With the list full, there is no use in looking for mistakes of meaning.
  return salvageDocument(mistakes < mostIssues ? document : undefined)
}

function longOverrides(document: unknown): ReadonlyMap<number, readonly unknown[]> {
  const lists = new Map<number, readonly unknown[]>()
  const rules: unknown = typeof document === 'object' && document !== null && 'rules' in document && document.rules
  if (!Array.isArray(rules)) return lists
  for (const [r, rule] of rules.entries()) {
    const list: unknown = typeof rule === 'object' && rule !== null ? (rule as RuleSpec).overrides : undefined
    if (Array.isArray(list) && list.length > long) lists.set(r, list)
  }
  return lists
}
