import { parseDocument } from '../../document/parse/parse-document.ts'
import { type PolicyArchive, policyChanged, readPushOptions } from '../archive.ts'
import type { PostgresPool } from './postgres-client.ts'

export interface PostgresArchivePlace {
  /** Quoted already. */
  readonly tableName: string
  readonly channel: string
  readonly service: string
  /** Resolves once the table is there. */
  ready(): Promise<void>
}

const uniqueViolation = '23505'

/**
 * Writes policies as rows, each a version, and announces them. YAML is stored as the document it says: the column is
 * `jsonb`.
 */
export function postgresArchive(pool: PostgresPool, place: PostgresArchivePlace): PolicyArchive {
  const { tableName, channel, service, ready } = place
  const insert = `
    WITH stored AS (
      INSERT INTO ${tableName} (service, revision, document)
      SELECT $1::text, coalesce(max(revision), 0) + 1, $2::jsonb FROM ${tableName} WHERE service = $1::text
      HAVING $4::bigint IS NULL OR coalesce(max(revision), 0) = $4::bigint
      RETURNING revision
    )
    SELECT revision::text, pg_notify($3::text, $1::text) FROM stored`

  return {
    async push(document, options) {
      const after = readPushOptions(options)
      const json = JSON.stringify(typeof document === 'string' ? parseDocument(document) : document)
      await ready()
      for (;;) {
        try {
          const { rows } = await pool.query(insert, [service, json, channel, after ?? null])
          if (rows.length === 0) throw policyChanged(after ?? 0)
          return Number((rows[0] as { revision: string }).revision)
        } catch (error) {
          // Another process has taken this revision a moment ago; the next one is free, or taken by one fewer.
          if ((error as { code?: string }).code !== uniqueViolation) throw error
          if (after !== undefined) throw policyChanged(after)
        }
      }
    },
    async history(limit) {
      await ready()
      const newest = `
        SELECT revision::text, document::text, created_at FROM ${tableName}
        WHERE service = $1 ORDER BY revision DESC LIMIT $2`
      const { rows } = await pool.query(newest, [service, limit])
      return (rows as { revision: string; document: string; created_at: Date }[]).map((row) => ({
        revision: Number(row.revision),
        createdAt: new Date(row.created_at),
        document: JSON.parse(row.document),
      }))
    },
  }
}
