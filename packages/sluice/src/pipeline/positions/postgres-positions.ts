import { checkOptionNames } from '../../core/check-options.ts'
import { quoteTable } from '../../policy/sources/postgres/postgres-table.ts'
import { asFailure, type PipelinePool, type Queries, type QueryResult, quoteText } from '../postgres-client.ts'
import { type Claim, Fenced, type PartitionState, type Positions } from './positions.ts'

/** Positions in a table, which a sink can also save in its own transaction. */
export interface PostgresPositions extends Positions {
  /** The statement that moves the position from the beginning of a batch to its end. */
  advance(claim: Claim, from: string | undefined, next: string | undefined): string
  /** Whether a former try has moved it already, as the statement changed nothing. Rejects when another owns it. */
  isAdvanced(client: Queries, claim: Claim, next: string | undefined): Promise<boolean>
}

/**
 * Keeps positions and claims in a table of PostgreSQL, which is created when it is not there.
 *
 * @example postgresPositions(pool, { table: 'ops.sluice_positions' })
 */
export function postgresPositions(pool: PipelinePool, options: { readonly table?: string } = {}): PostgresPositions {
  checkOptionNames('postgresPositions', options, ['table'])
  return positionsIn(pool, options.table)
}

/**
 * Those of a sink, which moves them with the data. A partition is only done at the position that is there: PostgreSQL
 * may have lost the last transactions, such as by a failover to a replica that lagged behind.
 */
export function sinkPositions(pool: PipelinePool, table: string | undefined): PostgresPositions {
  return positionsIn(pool, table, 'AND (NOT $5 OR next IS NOT DISTINCT FROM $4)')
}

function positionsIn(pool: PipelinePool, name = 'sluice_positions', ifSaved = ''): PostgresPositions {
  const table = quoteTable(name)
  const mine = `WHERE pipeline = $1 AND "partition" = $2 AND epoch = $3`
  const keyOf = ({ pipeline, partition, epoch }: Claim): unknown[] => [pipeline, partition, epoch]
  let creating: Promise<unknown> | undefined

  async function query(text: string, values: unknown[]): Promise<QueryResult> {
    creating ??= pool.query(createSql(table)).catch((error) => {
      creating = undefined
      throw asFailure(error)
    })
    await creating
    return pool.query(text, values)
  }
  const changed = async (text: string, values: unknown[]): Promise<boolean> =>
    (await query(text, values)).rowCount === 1

  return {
    async list(pipeline) {
      const owner = 'CASE WHEN lease_until > now() THEN owner END AS owner'
      const { rows } = await query(`SELECT *, ${owner} FROM ${table} WHERE pipeline = $1`, [pipeline])
      return rows.map(
        (row) => ({ ...claimOf(row), owner: (row.owner as string | null) ?? undefined }) as PartitionState,
      )
    },
    async claim(pipeline, partition, worker, leaseMs) {
      await query(`INSERT INTO ${table} (pipeline, "partition") VALUES ($1, $2) ON CONFLICT DO NOTHING`, [
        pipeline,
        partition,
      ])
      // A row that is locked has an owner who is writing just now.
      const { rows } = await query(
        `UPDATE ${table} SET epoch = epoch + 1, owner = $3, lease_until = now() + $4 * interval '1 ms'
         WHERE (pipeline, "partition") = (
           SELECT pipeline, "partition" FROM ${table}
           WHERE pipeline = $1 AND "partition" = $2 AND (owner IS NULL OR lease_until <= now())
           FOR UPDATE SKIP LOCKED)
         RETURNING *`,
        [pipeline, partition, worker, leaseMs],
      )
      return rows[0] && claimOf(rows[0])
    },
    extend: (claim, leaseMs) =>
      changed(`UPDATE ${table} SET lease_until = now() + $4 * interval '1 ms' ${mine}`, [...keyOf(claim), leaseMs]),
    save: (claim, { next, done, source }) =>
      changed(`UPDATE ${table} SET next = $4, done = $5, source = $6, saved_at = now() ${mine} ${ifSaved}`, [
        ...keyOf(claim),
        next ?? null,
        done,
        source ?? null,
      ]),
    async release(claim) {
      await changed(`UPDATE ${table} SET owner = NULL ${mine}`, keyOf(claim))
    },
    advance({ pipeline, partition, epoch }, from, next) {
      const own = `pipeline = ${quoteText(pipeline)} AND "partition" = ${quoteText(partition)} AND epoch = ${epoch}`
      const is = from === undefined ? 'IS NULL' : `= ${quoteText(from)}`
      return `UPDATE ${table} SET next = ${quoteText(next)}, saved_at = now() WHERE ${own} AND next ${is}`
    },
    async isAdvanced(client, claim, next) {
      const { rows } = await client.query(`SELECT next FROM ${table} ${mine}`, keyOf(claim))
      if (rows.length === 1 && rows[0]!.next === (next ?? null)) return true
      throw new Fenced(`another worker owns partition ${claim.partition}, or its position was changed`)
    },
  }
}

function claimOf(row: Record<string, unknown>): Claim {
  return {
    pipeline: row.pipeline as string,
    partition: row.partition as string,
    epoch: Number(row.epoch),
    next: (row.next as string | null) ?? undefined,
    done: row.done as boolean,
    source: (row.source as string | null) ?? undefined,
  }
}

/** The lock is there because `CREATE TABLE IF NOT EXISTS` fails when two do it at once. */
const createSql = (table: string): string => `
  BEGIN;
  SELECT pg_advisory_xact_lock(hashtext('sluice positions'));
  CREATE TABLE IF NOT EXISTS ${table} (
    pipeline text NOT NULL,
    "partition" text NOT NULL,
    epoch bigint NOT NULL DEFAULT 0,
    owner text,
    lease_until timestamptz NOT NULL DEFAULT '-infinity',
    next text,
    done boolean NOT NULL DEFAULT false,
    source text,
    saved_at timestamptz,
    PRIMARY KEY (pipeline, "partition")
  );
  COMMIT`
