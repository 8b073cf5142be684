import { accessSync, constants, existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { filePolicy } from 'sluice'
import type { PolicySource } from 'sluice/policy'
import { wrongOption } from '../option-error.ts'
import { parseRedisUrl, type RedisTarget, redisClient } from '../redis-target.ts'
import { hasSplitPassword, hideUrl, percentEncode } from '../secrets/hide-secrets.ts'
import { examplePolicy } from './example-policy.ts'
import { memoryPolicy } from './memory-policy.ts'

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

/** A source, and what was opened for it. */
export interface OpenSource {
  readonly source: PolicySource
  /** Closes the clients, once the source is closed. */
  close(): Promise<void>
}

const remedy =
  'use a file such as sluice.yaml, redis://host?key=sluice:policy:shop, postgres://host/db?service=shop or mongodb://host/db?service=shop'

/**
 * Reads where a policy is. A database holds the policies of many services, so its URL says which: `?service=shop`.
 *
 * @example parsePolicyPlace('postgres://localhost/app?service=shop', undefined, '--policy')
 */
export function parsePolicyPlace(text: string, service: string | undefined, option: string): PolicyPlace {
  const [, scheme] = /^([a-z][a-z0-9+]*):\/\//i.exec(text) ?? []
  if (scheme !== undefined && !/^file$/i.test(scheme) && hasSplitPassword(text))
    throw wrongOption(option, hideUrl(text), `${remedy}; ${percentEncode}`)
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
      throw wrongOption(option, hideUrl(text), remedy)
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

/** Makes the source of a place. Drivers are loaded only when a place needs them. */
export async function openSource(place: PolicyPlace): Promise<OpenSource> {
  const nothing = async (): Promise<void> => {}
  switch (place.kind) {
    case 'example':
      return { source: memoryPolicy(examplePolicy, 'the built-in example'), close: nothing }
    case 'file':
      if (!existsSync(place.path)) throw wrongOption('--policy', place.path, `there is no such file; ${remedy}`)
      return { source: filePolicy(place.path), close: nothing }
    case 'redis': {
      const { openRedis, redisPolicy } = await import('sluice/redis')
      const client = redisClient(place.target)
      const redis = openRedis(client, { reports: false })
      const close = async (): Promise<void> => {
        await redis.close()
        client.disconnect()
      }
      return { source: redisPolicy(redis, { key: place.key }), close }
    }
    case 'postgres': {
      const [{ postgresPolicy }, { default: pg }] = await Promise.all([import('sluice/postgres'), import('pg')])
      // The pool would notice only when it connects.
      wellFormed(place.url, () => new URL(place.url))
      const pool = new pg.Pool({ connectionString: place.url, max: 3 })
      pool.on('error', () => {})
      // A database that was named only by the environment may belong to others: nothing is created in it without an
      // explicit request.
      const table = place.table === undefined ? {} : { table: place.table }
      return {
        source: postgresPolicy(pool, { service: place.service, createTable: place.optional !== true, ...table }),
        close: () => pool.end(),
      }
    }
    case 'mongodb': {
      const [{ mongoPolicy }, { MongoClient }] = await Promise.all([import('sluice/mongodb'), import('mongodb')])
      const client = wellFormed(place.url, () => new MongoClient(place.url, { serverSelectionTimeoutMS: 5000 }))
      const name = place.collection ?? 'sluice_policies'
      const policies = client.db().collection<{ _id: string }>(name)
      const history = client.db().collection(`${name}_history`)
      return { source: mongoPolicy(policies, { service: place.service, history }), close: () => client.close() }
    }
  }
}

/** Makes what a URL is for; when the URL cannot be read, says which, without its password. */
function wellFormed<Made>(url: string, make: () => Made): Made {
  try {
    return make()
  } catch (error) {
    throw wrongOption(
      'the URL of the policy',
      hideUrl(url),
      `it cannot be read (${(error as Error).message}); ${remedy}`,
    )
  }
}
