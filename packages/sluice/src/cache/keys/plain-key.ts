import { type CacheKey, DefinedKey } from './cache-key.ts'
import type { KeySpec } from './key-spec.ts'

/** How many keys are cached, so that they need not be encoded again. */
const maxRecent = 2000
const recent = new Map<string, DefinedKey>()

/** What keys of plain texts have in common. No other name is empty, so they collide with no key of `defineKeys`. */
const spec: KeySpec = { name: 'text', encodedName: '', prefixScopes: ['p:', 'p:/'], parts: ['text'], options: {} }

/** The key that a text stands for, or the key itself. */
export function keyOf(given: CacheKey | string): DefinedKey {
  if (typeof given !== 'string') return given as DefinedKey
  const known = recent.get(given)
  if (known !== undefined) return known
  const made = new DefinedKey(spec, [given])
  if (recent.size >= maxRecent) recent.clear()
  recent.set(given, made)
  return made
}
