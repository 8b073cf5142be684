import { parseDocument } from 'sluice/policy'
import type { PolicyOutcome } from '../shapes/policy.ts'

type Section = 'rules' | 'upstreams'
type Document = { readonly [Name in Section]?: readonly { readonly name: string }[] } & { readonly tiers?: unknown }

/** A document as an object, whether it came as text or parsed. */
export function documentOf(document: unknown): unknown {
  return typeof document === 'string' ? parseDocument(document) : document
}

/** Compares two documents section by section. */
export function ruleChanges(before: unknown, after: unknown): NonNullable<PolicyOutcome['changes']> {
  return {
    ...changesOf('rules', before, after),
    tiers: JSON.stringify((before as Document)?.tiers ?? null) !== JSON.stringify((after as Document)?.tiers ?? null),
    upstreams: changesOf('upstreams', before, after),
  }
}

function changesOf(
  section: Section,
  before: unknown,
  after: unknown,
): NonNullable<PolicyOutcome['changes']>['upstreams'] {
  const [old, next] = [namedIn(section, before), namedIn(section, after)]
  return {
    added: [...next.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !next.has(name)),
    changed: [...next.keys()].filter((name) => old.has(name) && old.get(name) !== next.get(name)),
  }
}

function namedIn(section: Section, document: unknown): Map<string, string> {
  const listed = ((document ?? {}) as Document)[section]
  return new Map((Array.isArray(listed) ? listed : []).map((each) => [each.name, JSON.stringify(each)]))
}
