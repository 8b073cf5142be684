import { createHash } from 'node:crypto'
import type { RequestView } from 'sluice'

/** One entry of a descriptor. */
export interface Entry {
  readonly key: string
  readonly value: string
}

/** The method of requests that are made from descriptors: rules for Envoy say `match: { method: RLS, ... }`. */
export const rlsMethod = 'RLS'

/** Values longer than this are hashed, so that none can be too long for a key. */
const maxValueLength = 150
const hashed = 'sha256:'

/**
 * A descriptor as rules see it: the path is the domain and the keys in their order, the body has the values by key. A
 * key that occurs more than once has a list of values.
 *
 * @example descriptorView('mongo', [{ key: 'database', value: 'users' }]) // RLS /mongo/database { database: 'users' }
 */
export function descriptorView(domain: string, entries: readonly Entry[]): RequestView {
  const body: Record<string, string | string[]> = Object.create(null)
  for (const { key, value } of entries) {
    const text = bounded(value)
    const known = body[key]
    if (known === undefined) body[key] = text
    // Added in place: copying the list for each entry would take minutes for the 100,000 that fit into one message.
    else if (Array.isArray(known)) known.push(text)
    else body[key] = [known, text]
  }
  return {
    method: rlsMethod,
    path: pathOf(
      domain,
      entries.map(({ key }) => key),
    ),
    headers: {},
    body,
  }
}

/** The path of a domain and the keys of a descriptor, for `match.path`. */
export function pathOf(domain: string, keys: readonly string[]): string {
  // A star or a leading colon would be read as a pattern.
  return `/${[domain, ...keys].map((text) => encodeURIComponent(text).replaceAll('*', '%2A')).join('/')}`
}

/** Where in the body the value of each entry is, as selectors and conditions name it. */
export function fieldsOf(keys: readonly string[]): string[] {
  return keys.map((key, index) => {
    const name = /^[A-Za-z_][\w-]*$/.test(key) ? key : `[${key.includes('"') ? `'${key}'` : `"${key}"`}]`
    const before = keys.slice(0, index).filter((other) => other === key).length
    return keys.filter((other) => other === key).length > 1 ? `${name}[${before}]` : name
  })
}

/**
 * A value as rules and buckets have it: a long one is hashed. So is an empty one, as an empty text counts as missing: a
 * client that sends an empty header would go around its limit. And so is what looks like a hash already, so that no
 * value ever meets another's bucket.
 */
export function bounded(value: string): string {
  const isPlain = value !== '' && value.length <= maxValueLength && !value.startsWith(hashed)
  return isPlain ? value : `${hashed}${createHash('sha256').update(value).digest('hex')}`
}
