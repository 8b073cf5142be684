import type { HotKey } from 'sluice/reports'

/** How many keys of a rule are looked at. */
export const leadingAmong = 5

/** The key that was seen most, and whether keys were seen of which none stands out. */
export interface LeadingKey {
  readonly key: HotKey | null
  readonly isAlike: boolean
}

/**
 * The key that was certainly seen more often than any other. Counted in bounded memory, a count may be too high by
 * `error`; and of keys with the same count, the one that is listed first is there by chance.
 */
export function leadingKey(keys: readonly HotKey[]): LeadingKey {
  const [first, second] = keys.slice(0, leadingAmong).sort((a, b) => certain(b) - certain(a))
  const leads = first !== undefined && certain(first) > 0 && (second === undefined || certain(first) > certain(second))
  return leads ? { key: first, isAlike: false } : { key: null, isAlike: first !== undefined }
}

function certain({ count, error }: HotKey): number {
  return count - error
}
