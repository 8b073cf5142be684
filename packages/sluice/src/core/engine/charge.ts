import type { Charge } from './ask.ts'

/** A charge that differs from another in some fields. Its subject is encoded, and a field of its own. */
export function changeCharge<Of extends Charge>(
  { rule, subject, limits, cost }: Of,
  changes: Partial<Pick<Charge, 'limits' | 'cost'>> = {},
): Pick<Of, 'rule' | 'subject' | 'limits' | 'cost'> {
  return { rule, subject, limits, cost, ...changes }
}

/**
 * Finds what is kept for the subject of a charge. `plain` are those whose encoded key is the text itself: only they are
 * found by the text of a key, so that the text `a/b` never finds the tuple (`a`, `b`).
 */
export function findSubject<Kept extends { readonly plain: boolean }>(
  kept: ReadonlyMap<string, Kept> | undefined,
  charge: Charge,
): Kept | undefined {
  if (kept === undefined || kept.size === 0) return undefined
  const { text } = charge
  if (text !== undefined) {
    const found = kept.get(text)
    if (found?.plain) return found
    if (charge.subject === text) return undefined
  }
  return kept.get(charge.subject)
}
