import { keyPrefix } from '../core/key.ts'
import { limitSet } from '../core/limit-set.ts'
import { sha256 } from '../core/sha256.ts'
import type { CompiledPolicy, CompiledRule } from './compiled-policy.ts'
import type { PolicyDocument, RuleSpec } from './document.ts'
import { readLimits } from './limit-spec.ts'
import { PolicyError, type PolicyIssue, type Report } from './policy-error.ts'
import { policySchema } from './schema.ts'
import { checkShape } from './schema-issues.ts'

export interface CompileOptions {
  /** Where tiers by environment are looked up; the environment of the process unless said otherwise. */
  readonly env?: Readonly<Record<string, string | undefined>>
}

/**
 * Checks a policy document and makes it ready for decisions. Throws a `PolicyError` that lists every mistake.
 *
 * @example compilePolicy({ service: 'api', rules: [{ name: 'per-user', limits: { rpm: 100 } }] })
 */
export function compilePolicy(document: unknown, _options: CompileOptions = {}): CompiledPolicy {
  const issues: PolicyIssue[] = []
  const report: Report = (path, value, message) => issues.push({ path, value, message })
  const checked = checkShape(policySchema, document, '', report)
  const policy = checked && build(checked, report)
  if (!policy || issues.length > 0) throw new PolicyError(issues)
  return policy
}

function build(document: PolicyDocument, report: Report): CompiledPolicy {
  const rules = document.rules.map((spec, index) => buildRule(document.service, spec, `rules[${index}]`, report))
  const byName = new Map(rules.map((rule) => [rule.name, rule]))
  return {
    service: document.service,
    version: String(document.version ?? sha256(JSON.stringify(document)).slice(0, 12)),
    rules,
    rule: (name) => byName.get(name),
    match: () => ({ rules: [], refusedBy: undefined }),
    explain: () => [],
    readsBody: false,
  }
}

function buildRule(service: string, spec: RuleSpec, path: string, report: Report): CompiledRule {
  if (!spec.limits) report(`${path}.limits`, spec.limits, 'give at least one limit')
  const limits = limitSet(spec.limits ? readLimits(spec.limits, `${path}.limits`, spec, report) : [])
  return {
    name: spec.name,
    prefix: keyPrefix(service, spec.name),
    onStoreFailure: spec.onStoreFailure ?? 'open',
    lease: spec.lease ?? false,
    mode: spec.mode ?? 'enforce',
    limitsFor: () => limits,
  }
}
