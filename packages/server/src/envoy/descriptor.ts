import type { RequestView } from 'sluice'

/** One entry of a descriptor. */
export interface Entry {
  readonly key: string
  readonly value: string
}

/** The method of requests that are made from descriptors: rules for Envoy say `match: { method: RLS, ... }`. */
export const rlsMethod = 'RLS'

/** Stands for an empty value: an empty text counts as missing, so that a client would go around its limit with one. */
const empty = '\0'

/**
 * A descriptor as rules see it: the path is the domain and the keys in their order, the body has the values by key. A
 * key that occurs more than once has a list of values.
 *
 * @example descriptorView('mongo', [{ key: 'database', value: 'users' }]) // RLS /mongo/database { database: 'users' }
 */
export function descriptorView(domain: string, entries: readonly Entry[]): RequestView {
  const body: Record<string, string | string[]> = Object.create(null)
  for (const { key, value } of entries) {
    const text = textOfValue(value)
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
 * A value as rules and buckets have it: an empty one has a stand-in. What begins with that gets it once more, so that
 * no value meets another's bucket. Long values stay as they are, as patterns must see them whole.
 */
export function textOfValue(value: string): string {
  return value === '' || value.startsWith(empty) ? `${empty}${value}` : value
}

/** Whether a pattern has the stand-in of an empty value in it, and so would fit that. */
export function nulIn(pattern: string): boolean {
  return pattern.includes(empty)
}
