import { checkOptionNames } from '../../../core/check-options.ts'
import { type Duration, parseDuration } from '../../../core/duration.ts'
import { invalidOption } from '../../../core/errors.ts'
import { parseDocument } from '../../document/parse/parse-document.ts'
import { type ArchivedSource, type PolicyArchive, policyChanged, readPushOptions } from '../archive.ts'
import { followedSource, noDocument, type Reading } from '../followed-source.ts'
import { listen, type PostgresPool } from './postgres-client.ts'
import { createTableSql, quoteName, quoteTable } from './postgres-table.ts'

export type { PostgresClient, PostgresPool, PostgresResult } from './postgres-client.ts'

export interface PostgresPolicyOptions {
  /** Whose policy: the rows with this `service`. */
  readonly service: string
  /** The table, as `name` or `schema.name`; `sluice_policy` unless said otherwise. */
  readonly table?: string
  /** Where changes are announced; `sluice_policy` unless said otherwise. */
  readonly channel?: string
  /** How often to look besides listening, in case an announcement is missed. 10 s by default. */
  readonly poll?: Duration
  /** How long one look may take. 5 s by default. */
  readonly timeout?: Duration
  /** Creates the table when it is not there, with a trigger that announces every change. */
  readonly createTable?: boolean
}

const optionNames = ['service', 'table', 'channel', 'poll', 'timeout', 'createTable']

/**
 * A policy in a table of PostgreSQL, one row for each version; the one with the highest revision is in force. Takes
 * your pool of `pg`, and keeps one connection of it to listen (unless it has only one).
 *
 * @example
 * const limiter = await createLimiter({ policy: postgresPolicy(pool, { service: 'shop', createTable: true }) })
 */
export function postgresPolicy(pool: PostgresPool, options: PostgresPolicyOptions): ArchivedSource {
  checkOptionNames('postgresPolicy', options, optionNames)
  const { service, table, channel } = resolvePlace(options)
  const channelName = quoteName(channel, 'channel')
  const tableName = quoteTable(table)
  let created = options.createTable !== true
  const ready = async (): Promise<void> => {
    if (!created) await pool.query(createTableSql(table, channel))
    created = true
  }
  const source = followedSource({
    description: `postgres ${table} ${service}`,
    service,
    pollMs: parseDuration(options.poll ?? '10s', 'postgresPolicy.poll'),
    timeoutMs: parseDuration(options.timeout ?? '5s', 'postgresPolicy.timeout'),
    async read(stamp) {
      await ready()
      return readDocument(pool, tableName, service, stamp)
    },
    subscribe(push) {
      if (pool.options?.max === 1) {
        queueMicrotask(() => push.unavailable())
        return () => {}
      }
      const heard = (payload: string | undefined): void => {
        // Without a payload it was announced by hand, for whomever it concerns.
        if (!payload || payload === service) push.changed()
      }
      return listen(pool, channelName, heard, () => push.broken())
    },
  })
  return Object.assign(source, { archive: postgresArchive(pool, { tableName, channel, service, ready }) })
}

function resolvePlace({ service, table = 'sluice_policy', channel = 'sluice_policy' }: PostgresPolicyOptions) {
  if (typeof service !== 'string' || service === '' || service.includes('\0')) {
    throw invalidOption('service', service, 'name the service whose policy it is')
  }
  return { service, table, channel }
}

async function readDocument(
  pool: PostgresPool,
  tableName: string,
  service: string,
  stamp: string | undefined,
): Promise<Reading | 'unchanged'> {
  // xmin changes when a row is updated in place; the document is sent only when the row is not the known one.
  const text = `
    SELECT revision::text, stamp, CASE WHEN stamp IS DISTINCT FROM $2 THEN document::text END AS document
    FROM (
      SELECT revision, document, revision || '/' || xmin AS stamp FROM ${tableName}
      WHERE service = $1 ORDER BY revision DESC LIMIT 1
    ) AS newest`
  const { rows } = await pool.query(text, [service, stamp ?? null])
  const row = rows[0] as { revision: string; stamp: string; document: string | null } | undefined
  if (row === undefined) throw noDocument()
  if (row.document === null) return 'unchanged'
  return { document: JSON.parse(row.document), text: row.document, revision: Number(row.revision), stamp: row.stamp }
}

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
function postgresArchive(pool: PostgresPool, place: PostgresArchivePlace): PolicyArchive {
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
