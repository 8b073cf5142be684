import { checkOptionNames } from '../../../core/check-options.ts'
import { type Duration, parseDuration } from '../../../core/duration.ts'
import { invalidOption } from '../../../core/errors.ts'
import type { ArchivedSource } from '../archive.ts'
import { followedSource, noDocument, type Push, type Reading } from '../followed-source.ts'
import { mongoArchive } from './mongodb-archive.ts'
import { type MongoCollection, type MongoHistory, revisionOf } from './mongodb-collection.ts'

export type { MongoChangeStream, MongoCollection, MongoHistory } from './mongodb-collection.ts'

export interface MongoPolicyOptions {
  /** Whose policy: the document with this `_id`. */
  readonly service: string
  /** How often to look at `last_updated`. 30 s by default. */
  readonly poll?: Duration
  /** How long one look may take. 5 s by default. */
  readonly timeout?: Duration
  /** A collection to keep former versions in. Without it, only the version in force is known. */
  readonly history?: MongoHistory
}

/** What a server says that has no change streams: it is not part of a replica set, or an older or a similar product. */
const cannotStream: readonly number[] = [40573, 40324, 115]

/**
 * A policy in a collection of MongoDB, one document for each service. Where the server offers change streams, a change
 * is in force at once; otherwise within one poll, provided that `last_updated` was changed with it.
 *
 * @example
 * const policies = mongo.db('shop').collection('rate_limits')
 * const limiter = await createLimiter({ policy: mongoPolicy(policies, { service: 'sentiment-service' }) })
 */
export function mongoPolicy(policies: MongoCollection, options: MongoPolicyOptions): ArchivedSource {
  checkOptionNames('mongoPolicy', options, ['service', 'poll', 'timeout', 'history'])
  const { service, history } = options
  const pollMs = parseDuration(options.poll ?? '30s', 'mongoPolicy.poll')
  const timeoutMs = parseDuration(options.timeout ?? '5s', 'mongoPolicy.timeout')
  if (typeof service !== 'string' || service === '') {
    throw invalidOption('service', service, 'name the service whose policy it is')
  }
  // A writer may forget `last_updated`; the change stream reports the change anyway.
  let wasPushed = false
  const source = followedSource({
    description: `mongodb ${policies.collectionName} ${service}`,
    service,
    pollMs,
    timeoutMs,
    async read(stamp) {
      const known = wasPushed ? undefined : stamp
      wasPushed = false
      return readDocument(policies, service, known)
    },
    subscribe: (push) =>
      follow(policies, service, {
        ...push,
        changed() {
          wasPushed = true
          push.changed()
        },
      }),
  })
  return Object.assign(source, { archive: mongoArchive(policies, service, history) })
}

function follow(policies: MongoCollection, service: string, push: Push): () => Promise<unknown> {
  const stream = policies.watch([{ $match: { 'documentKey._id': service } }])
  let begun = false
  stream.on('change', () => push.changed())
  // The first token comes as soon as the server follows; a stream that was resumed has missed nothing.
  stream.on('resumeTokenChanged', () => {
    if (!begun) push.changed()
    begun = true
  })
  stream.on('error', (error) => {
    if (cannotStream.includes((error as { code?: number }).code ?? 0)) push.unavailable()
    else push.broken()
  })
  // A server without change streams closes the stream before the error that says so (driver 7.8).
  stream.on('close', () => setImmediate(() => push.broken()))
  return () => stream.close()
}

async function readDocument(
  policies: MongoCollection,
  service: string,
  stamp: string | undefined,
): Promise<Reading | 'unchanged'> {
  const filter = { _id: service }
  if (stamp !== undefined) {
    const found = await policies.findOne(filter, { projection: { last_updated: 1 } })
    if (String(revisionOf(found)) === stamp) return 'unchanged'
  }
  const document = await policies.findOne(filter)
  if (document === null || document === undefined) throw noDocument()
  const revision = revisionOf(document)
  const { last_updated: _, ...said } = document as Record<string, unknown>
  const text = JSON.stringify(said, (_, value) => (typeof value === 'bigint' ? `${value}n` : value))
  return { document, text, revision, ...(revision === undefined ? {} : { stamp: String(revision) }) }
}
