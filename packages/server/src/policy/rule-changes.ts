import { parse } from 'yaml'

/** What a new document changes, by the names of rules. */
export interface RuleChanges {
  readonly added: readonly string[]
  readonly removed: readonly string[]
  readonly changed: readonly string[]
  /** Whether tiers, which rules share, differ. */
  readonly tiers: boolean
}

interface Document {
  readonly tiers?: unknown
  readonly rules?: readonly { readonly name: string }[]
}

/** A document as an object, whether it came as text or parsed. */
export function documentOf(document: unknown): unknown {
  return typeof document === 'string' ? parse(document) : document
}

/** Compares two documents rule by rule. */
export function ruleChanges(before: unknown, after: unknown): RuleChanges {
  const [old, next] = [rulesOf(before), rulesOf(after)]
  return {
    added: [...next.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !next.has(name)),
    changed: [...next.keys()].filter((name) => old.has(name) && old.get(name) !== next.get(name)),
    tiers: JSON.stringify((before as Document)?.tiers ?? null) !== JSON.stringify((after as Document)?.tiers ?? null),
  }
}

function rulesOf(document: unknown): Map<string, string> {
  const { rules } = (document ?? {}) as Document
  return new Map((Array.isArray(rules) ? rules : []).map((rule) => [rule.name, JSON.stringify(rule)]))
}
