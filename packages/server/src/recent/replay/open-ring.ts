import type { LivePolicy } from 'sluice/policy'
import { documentOf } from '../../policy/rule-changes.ts'
import { keySelectorsOf } from './hide-in-document.ts'
import { RequestRing } from './request-ring.ts'
import type { Hide } from './secret-names.ts'

/** A ring for requests under a policy; the document in force says which parts of keys are secret. */
export function openRing(policy: LivePolicy, hide: Hide): RequestRing {
  let known: { readonly document: unknown; readonly byRule: ReadonlyMap<string, readonly string[]> } | undefined
  const keySelectors = (rule: string | undefined): readonly string[] => {
    const document = policy.document?.given
    if (known === undefined || known.document !== document) known = { document, byRule: selectorsByRule(document) }
    // Without a name, the policy has only one rule that could be meant.
    return rule === undefined ? ([...known.byRule.values()][0] ?? []) : (known.byRule.get(rule) ?? [])
  }
  return new RequestRing(() => policy.current, hide, { keySelectors })
}

function selectorsByRule(document: unknown): ReadonlyMap<string, readonly string[]> {
  const rules = (documentOf(document) as { readonly rules?: unknown } | undefined)?.rules
  const listed = Array.isArray(rules) ? (rules as { readonly name?: unknown; readonly key?: unknown }[]) : []
  return new Map(listed.map(({ name, key }) => [String(name), keySelectorsOf(key)]))
}
