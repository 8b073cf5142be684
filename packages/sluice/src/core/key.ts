import { SluiceError, show } from './errors.ts'
import { sha256 } from './sha256.ts'

/** One part of a key. A number is not the text that spells it: `1` and `'1'` are two subjects. */
export type KeyPart = string | number | boolean

/** The subject of a rule: text, or a tuple of parts. */
export type Key = string | readonly ReadKeyPart[]

/** A part of a key that was read back: one that was too long to keep is known by its hash alone. */
export type ReadKeyPart = KeyPart | HashedPart

/** A part that was too long to keep. A text that spells the same hash is another part. */
export class HashedPart {
  readonly #encoded: string

  constructor(encoded: string) {
    this.#encoded = encoded
  }

  /** `~` and the hash. */
  toString(): string {
    return this.#encoded
  }

  toJSON(): string {
    return this.#encoded
  }
}

/** Parts longer than this many UTF-16 units, and tuples of more parts than `maxParts`, are not kept as they are. */
export const maxPartLength = 200
export const maxParts = 32

// Everything else is written as %XXXX: the separator, the escape itself, the braces that choose a slot in Redis
// Cluster, the marks of numbers and hashes at the start of a part, white space, controls, and all that is not ASCII.
const plain = /^(?![#~])[\w.:@+=,;!$*()'&^|[\]<>?#~-]*$/
const special = /[^\w.:@+=,;!$*()'&^|[\]<>?#~-]/g

/**
 * Writes a key so that distinct tuples never meet: (`a:b`, `c`) is not (`a`, `b:c`), and no part can reach beyond
 * itself.
 *
 * @example encodeKey(['client/corp', 'en']) // 'client%002fcorp/en'
 */
export function encodeKey(key: Key): string {
  if (typeof key === 'string') return encodeText(key)
  if (!Array.isArray(key) || key.length === 0) throw invalidKey(key)
  if (key.length > maxParts)
    throw new SluiceError('SLUICE_INVALID_KEY', `key has ${key.length} parts; use at most ${maxParts}`)
  let text = encodePart(key[0], 0)
  for (let i = 1; i < key.length; i++) text += `/${encodePart(key[i], i)}`
  return text
}

/** The error for what is no key at all. */
export function invalidKey(key: unknown): SluiceError {
  const shown = Array.isArray(key) ? 'an empty array' : show(key)
  // Adapters take numbers from functions for keys, and make one part of each.
  if (typeof key === 'boolean' || (typeof key === 'number' && Number.isFinite(key)))
    return new SluiceError(
      'SLUICE_INVALID_KEY',
      `key is ${shown}; use [${shown}], as adapters do with what a key function returns, or the text "${shown}": two subjects`,
    )
  return new SluiceError('SLUICE_INVALID_KEY', `key is ${shown}; use a string or an array of one or more parts`)
}

function encodePart(part: unknown, index: number): string {
  if (typeof part === 'string') return encodeText(part)
  if (typeof part === 'boolean') return part ? '#true' : '#false'
  if (typeof part === 'number' && Number.isFinite(part)) return Object.is(part, -0) ? '#0' : `#${part}`
  if (part instanceof HashedPart) return part.toString()
  throw new SluiceError(
    'SLUICE_INVALID_KEY',
    `key part ${index} is ${show(part)}; use a string, a finite number or a boolean`,
  )
}

/** The last text that stood for itself: a hot subject is asked for again and again. */
let lastPlain = ''

function encodeText(text: string): string {
  if (text === lastPlain) return text
  if (text.length > maxPartLength) return `~${sha256(text)}`
  if (plain.test(text)) {
    lastPlain = text
    return text
  }
  const escaped = text.replace(special, escapeUnit)
  return escaped.startsWith('#') || escaped.startsWith('~') ? `${escapeUnit(escaped)}${escaped.slice(1)}` : escaped
}

/** Whether an encoded key is a single text written as it is, so that the text itself finds it. */
export function isPlainKey(encoded: string): boolean {
  return plain.test(encoded)
}

function escapeUnit(character: string): string {
  // `special` has no `u` flag, so it matches one UTF-16 unit at a time and lone surrogates need no case of their
  // own.
  return `%${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}

/**
 * Reads an encoded key back into its parts. A part that was too long to keep reads as `~` and its hash.
 *
 * @example decodeKey('client%002fcorp/en') // ['client/corp', 'en']
 */
export function decodeKey(encoded: string): KeyPart[] {
  return encoded.split('/').map(decodePart)
}

/** One part of an encoded key; undefined when it has fewer. */
export function keyPartAt(encoded: string, index: number): KeyPart | undefined {
  // Most keys have one part.
  const part = encoded.includes('/') ? encoded.split('/')[index] : index === 0 ? encoded : undefined
  return part === undefined ? undefined : decodePart(part)
}

function decodePart(part: string): KeyPart {
  if (part === '#true') return true
  if (part === '#false') return false
  if (part.startsWith('#')) return Number(part.slice(1))
  if (!part.includes('%')) return part
  return part.replace(/%([0-9a-f]{4})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}

/** The start of every readable key of a rule: `service/rule/`. */
export function keyPrefix(service: string, rule: string): string {
  return `${encodeText(service)}/${encodeText(rule)}/`
}

/**
 * The parts of a readable key, so that `encodeKey` writes the same key again, also where it has a hash.
 *
 * @example parseReadableParts('client%002fcorp/en') // ['client/corp', 'en']
 */
export function parseReadableParts(text: string): ReadKeyPart[] {
  return text.split('/').map((part) => (/^~[0-9a-f]{64}$/.test(part) ? new HashedPart(part) : decodePart(part)))
}

/** Takes a readable key such as `sentiment-service/tenant-language/client-corp/en` apart. */
export function parseReadableKey(text: string): { service: string; rule: string; key: ReadKeyPart[] } {
  const [service, rule, ...rest] = text.split('/')
  if (!service || !rule || rest.length === 0) {
    throw new SluiceError(
      'SLUICE_INVALID_KEY',
      `${show(text)} is not a full key; write service/rule/part, such as my-service/per-user/42`,
    )
  }
  return {
    service: String(decodePart(service)),
    rule: String(decodePart(rule)),
    key: parseReadableParts(rest.join('/')),
  }
}
