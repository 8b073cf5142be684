import { existsSync } from 'node:fs'
import { filePolicy, SluiceError } from 'sluice'
import type { ArchivedSource, PolicyArchive, PolicySource, PolicyVersion, SourceListener } from 'sluice/policy'
import { hideUrl } from '../../connections/hide-secrets.ts'
import { wrongOption } from '../../connections/option-error.ts'
import { examplePolicy } from './example-policy.ts'
import { type PolicyPlace, placeRemedy } from './policy-place.ts'

/** A source, and what was opened for it. */
export interface OpenSource {
  readonly source: PolicySource
  /** Closes the clients, once the source is closed. */
  close(): Promise<void>
}

/** Makes the source of a place. Drivers are loaded only when a place needs them. */
export async function openSource(place: PolicyPlace): Promise<OpenSource> {
  const nothing = async (): Promise<void> => {}
  switch (place.kind) {
    case 'example':
      return { source: memoryPolicy(examplePolicy, 'the built-in example'), close: nothing }
    case 'file':
      if (!existsSync(place.path)) throw wrongOption('--policy', place.path, `there is no such file; ${placeRemedy}`)
      return { source: filePolicy(place.path), close: nothing }
    case 'redis': {
      const [{ openRedis, redisPolicy }, { redisClient }] = await Promise.all([
        import('sluice/redis'),
        import('../../connections/redis-client.ts'),
      ])
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
      `it cannot be read (${(error as Error).message}); ${placeRemedy}`,
    )
  }
}

const versionsKept = 10

/** A policy that lives in the daemon alone: it can be changed while the daemon runs and is forgotten with it. */
function memoryPolicy(document: unknown, description: string): PolicySource & { readonly archive: PolicyArchive } {
  const versions: PolicyVersion[] = [{ revision: 1, createdAt: new Date(), document }]
  let listener: SourceListener | undefined
  const newest = (): PolicyVersion => versions[0]!
  return {
    description,
    async start(given) {
      listener = given
      return newest()
    },
    async close() {
      listener = undefined
    },
    archive: {
      async push(next, { after } = {}) {
        if (after !== undefined && after !== newest().revision)
          throw new SluiceError('SLUICE_POLICY_CHANGED', `somebody else has pushed a policy since revision ${after}`)
        const version = { revision: newest().revision + 1, createdAt: new Date(), document: next }
        versions.unshift(version)
        versions.length = Math.min(versions.length, versionsKept)
        listener?.changed(version)
        return version.revision
      },
      history: async (limit) => versions.slice(0, limit),
    },
  }
}

/** The archive of a source, if it has one. */
export function archiveOf(source: PolicySource): PolicyArchive | undefined {
  return (source as Partial<ArchivedSource>).archive
}
