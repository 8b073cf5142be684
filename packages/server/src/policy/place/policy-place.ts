import { accessSync, constants } from 'node:fs'
import { dirname } from 'node:path'
import { hasSplitPassword, hideUrl, percentEncode } from '../../connections/hide-secrets.ts'
import { wrongOption } from '../../connections/option-error.ts'
import { parseRedisUrl, type RedisTarget } from '../../connections/redis-target.ts'

/** Where the daemon's policy is. */
export type PolicyPlace = (
  | { readonly kind: 'example' }
  | { readonly kind: 'file'; readonly path: string }
  | { readonly kind: 'redis'; readonly target: RedisTarget; readonly key: string }
  | { readonly kind: 'postgres'; readonly url: string; readonly service: string; readonly table: string | undefined }
  | {
      readonly kind: 'mongodb'
      readonly url: string
      readonly service: string
      readonly collection: string | undefined
    }
) & {
  /** Whether the example is in force while nothing is found there. */
  readonly optional?: boolean
}

export const placeRemedy =
  'use a file such as sluice.yaml, redis://host?key=sluice:policy:shop, postgres://host/db?service=shop or mongodb://host/db?service=shop'

/**
 * Reads where a policy is. A database holds the policies of many services, so its URL says which: `?service=shop`.
 *
 * @example parsePolicyPlace('postgres://localhost/app?service=shop', undefined, '--policy')
 */
export function parsePolicyPlace(text: string, service: string | undefined, option: string): PolicyPlace {
  const [, scheme] = /^([a-z][a-z0-9+]*):\/\//i.exec(text) ?? []
  if (scheme !== undefined && !/^file$/i.test(scheme) && hasSplitPassword(text))
    throw wrongOption(option, hideUrl(text), `${placeRemedy}; ${percentEncode}`)
  switch (scheme?.toLowerCase()) {
    case undefined:
      return { kind: 'file', path: text }
    case 'file':
      return { kind: 'file', path: decodeURIComponent(new URL(text).pathname) }
    case 'redis':
    case 'rediss':
    case 'redis+sentinel':
    case 'redis+cluster':
    case 'rediss+sentinel':
    case 'rediss+cluster': {
      const { url, own } = takeOwn(text, ['key', 'service'])
      return {
        kind: 'redis',
        target: parseRedisUrl(url, option),
        key: own.key ?? `sluice:policy:${own.service ?? service ?? 'default'}`,
      }
    }
    case 'postgres':
    case 'postgresql': {
      const { url, own } = takeOwn(text, ['service', 'table'])
      return { kind: 'postgres', url, service: own.service ?? service ?? 'default', table: own.table }
    }
    case 'mongodb':
    case 'mongodb+srv': {
      const { url, own } = takeOwn(text, ['service', 'collection'])
      return { kind: 'mongodb', url, service: own.service ?? service ?? 'default', collection: own.collection }
    }
    default:
      throw wrongOption(option, hideUrl(text), placeRemedy)
  }
}

/** Takes the parameters that are meant for Sluice out of a URL; drivers would refuse them. */
function takeOwn(text: string, names: readonly string[]): { url: string; own: Record<string, string | undefined> } {
  const [bare, query = ''] = text.split(/\?(.*)/s, 2)
  const parameters = new URLSearchParams(query)
  const own: Record<string, string | undefined> = {}
  for (const name of names) {
    own[name] = parameters.get(name) ?? undefined
    parameters.delete(name)
  }
  const rest = parameters.toString()
  return { url: rest === '' ? bare! : `${bare}?${rest}`, own }
}

/**
 * Whether documents can be written to a place, as far as that is known without trying. A file is replaced in its
 * folder.
 */
export function isWritable(place: PolicyPlace): boolean {
  if (place.kind !== 'file') return true
  try {
    accessSync(dirname(place.path), constants.W_OK)
    accessSync(place.path, constants.W_OK)
    return true
  } catch {
    return false
  }
}
