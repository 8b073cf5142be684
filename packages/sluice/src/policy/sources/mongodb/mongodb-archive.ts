import { invalidOption } from '../../../core/errors.ts'
import { parseDocument } from '../../document/parse/parse-document.ts'
import { type PolicyArchive, type PolicyVersion, policyChanged, readPushOptions } from '../archive.ts'
import { type MongoCollection, type MongoHistory, revisionOf } from './mongodb-collection.ts'

const duplicateKey = 11000

/**
 * Replaces the document of a service. Its `last_updated` is the revision, and always later than that of the document
 * before.
 */
export function mongoArchive(
  policies: MongoCollection,
  service: string,
  versions: MongoHistory | undefined,
): PolicyArchive {
  /** Once only: the version that is about to be replaced was most often kept when it was pushed. */
  async function keep(document: object): Promise<void> {
    const revision = revisionOf(document)
    if (versions === undefined || revision === undefined) return
    try {
      const createdAt = new Date(revision)
      await versions.insertOne({ _id: `${service}@${revision}`, service, revision, created_at: createdAt, document })
    } catch (error) {
      if ((error as { code?: unknown }).code !== duplicateKey) throw error
    }
  }

  /** Undefined when another writer was first. */
  async function replace(document: object, after: number | undefined): Promise<number | undefined> {
    const former = (await policies.findOne({ _id: service })) as { last_updated?: unknown } | null
    // Read after the document: a push in between makes the replacement fail.
    if (after !== undefined && ((await newest(1))[0]?.revision ?? 0) !== after) throw policyChanged(after)
    if (former !== null) await keep(former)
    const revision = Math.max(Date.now(), Math.floor(revisionOf(former) ?? 0) + 1)
    const next = { ...document, _id: service, last_updated: new Date(revision) }
    const asFound = { _id: service, last_updated: former?.last_updated ?? null }
    try {
      const done = (await policies.replaceOne(asFound, next, { upsert: former === null })) as {
        matchedCount?: number
        upsertedCount?: number
      }
      if (!done.matchedCount && !done.upsertedCount) return undefined
    } catch (error) {
      if ((error as { code?: unknown }).code === duplicateKey) return undefined
      throw error
    }
    await keep(next)
    return revision
  }

  /**
   * The document in force counts even if it is not kept yet: between the two writes of a push, a second push would
   * otherwise find its revision still the newest.
   */
  async function newest(limit: number): Promise<readonly PolicyVersion[]> {
    const kept = await newestKept(limit)
    const document = await policies.findOne({ _id: service })
    const revision = revisionOf(document)
    if (revision === undefined || kept.some((version) => version.revision === revision)) return kept
    const current = { revision, createdAt: new Date(revision), document }
    return [...kept, current].sort((a, b) => b.revision - a.revision).slice(0, limit)
  }

  async function newestKept(limit: number): Promise<PolicyVersion[]> {
    // To MongoDB a limit of 0 is none.
    if (versions === undefined || limit < 1) return []
    const rows = await versions.find({ service }).sort({ revision: -1 }).limit(limit).toArray()
    return (rows as { revision: number; created_at: Date; document: unknown }[]).map(versionOf)
  }

  return {
    async push(document, options) {
      const after = readPushOptions(options)
      const parsed = typeof document === 'string' ? parseDocument(document) : document
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
        throw invalidOption('document', parsed, 'give a policy document')
      }
      for (;;) {
        const revision = await replace(parsed, after)
        if (revision !== undefined) return revision
        if (after !== undefined) throw policyChanged(after)
      }
    },
    history: newest,
  }
}

function versionOf(row: { revision: number; created_at: Date; document: unknown }): PolicyVersion {
  return { revision: row.revision, createdAt: row.created_at, document: row.document }
}
