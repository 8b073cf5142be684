import { type Difference, diffDocuments } from './diff-documents.ts'
import { documentOf } from './rule-changes.ts'

const shown = 2
/** A longer document takes longer to compare than a list of versions may. */
const mostText = 200_000

/** What a version changed of the one before it: how much, and the first of it in words. */
export function versionSummary(before: unknown, after: unknown): { changes: number | null; summary: string } {
  if (before === undefined) return { changes: null, summary: 'the first that is kept' }
  if ([before, after].some(isLong)) return { changes: null, summary: 'too long to compare here' }
  let found: readonly Difference[]
  try {
    found = diffDocuments(documentOf(before), documentOf(after))
  } catch {
    // What was pushed by other means may not even parse.
    return { changes: null, summary: 'cannot be compared' }
  }
  const words = found.slice(0, shown).map(wordsOf)
  const more = found.length > shown ? [`${found.length - shown} more`] : []
  return { changes: found.length, summary: [...words, ...more].join(', ') || 'no change' }
}

const isLong = (document: unknown): boolean =>
  (typeof document === 'string' ? document : JSON.stringify(document)).length > mostText

function wordsOf({ path, kind, before, after }: Difference): string {
  const place = path === '' ? 'the document' : path
  if (kind !== 'changed') return `${kind} ${place}`
  const [from, to] = [before, after].map((value) => JSON.stringify(value) ?? '')
  return from!.length + to!.length > 60 ? `changed ${place}` : `${place} ${from} → ${to}`
}
