import { encodeKey } from '../core/key.ts'

/**
 * Where each part keeps its keys. Counters of limits are at `<prefix><service>/<rule>/<subject>`; a service name that
 * begins with `#` is escaped there, so nothing of theirs can collide with these.
 */
const namespaces = {
  cache: '#cache/',
  presence: '#presence/',
  upstream: '#upstream/',
  report: '#report/',
  capacity: '#capacity/',
  pipeline: '#pipeline/',
} as const

export type Namespace = keyof typeof namespaces

/** The start of every key of Sluice, unless a part is given another. */
export const defaultPrefix = 'sluice:'

/**
 * The start of every key of one part of one service, of which it may have several with names. What follows must be
 * encoded (`encodeKey`), or be known to be harmless.
 *
 * @example namespaceOf('cache', 'shop', 'sluice:') + encodeKey(['user', 7]) // 'sluice:#cache/shop/user/#7'
 */
export function namespaceOf(namespace: Namespace, service: string, prefix: string, name?: string): string {
  return `${prefix}${namespaces[namespace]}${encodeKey(name === undefined ? service : [service, name])}/`
}
