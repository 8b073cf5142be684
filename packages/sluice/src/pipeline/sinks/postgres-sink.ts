import { checkOptionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import { quoteName, quoteTable } from '../../policy/sources/postgres/postgres-table.ts'
import type { PipelineSink, Rejection } from '../pipeline.ts'
import { postgresPositions } from '../positions/postgres-positions.ts'
import { type Connection, inTransaction, isDataError, type PipelinePool } from '../postgres-client.ts'
import { CopyIn, canCopy, copyText } from './copy-in.ts'

export interface PostgresSinkOptions {
  readonly table: string
  /** The columns of a unique index: rows that are there already are updated. Without them, rows are only inserted. */
  readonly conflict?: readonly string[]
  /** Which columns are updated; all others by default, and with an empty list none. */
  readonly update?: readonly string[]
  /** Which fields are written; by default all that a batch has. A field that a record lacks is null. */
  readonly columns?: readonly string[]
  /**
   * Whether rows go through COPY, which is faster: straight into the table, or with `conflict` into a temporary one.
   * Yes by default; false for a pool that is not one of `pg` itself. Rows with objects or lists go another way.
   */
  readonly copy?: boolean
  /** The table of positions, `sluice_positions` by default; false where the source keeps positions itself. */
  readonly positions?: string | false
}

const known = ['table', 'conflict', 'update', 'columns', 'copy', 'positions']

/**
 * Writes each batch in one transaction, together with its position: whatever happens in between, a batch takes effect
 * once. Rows that PostgreSQL refuses for what they are go to the dead letters; all others of the batch are written.
 *
 * @example postgresSink(pool, { table: 'offers', conflict: ['id'] })
 */
export function postgresSink(pool: PipelinePool, options: PostgresSinkOptions): PipelineSink<object> {
  checkOptionNames('postgresSink', options, known)
  quoteTable(options.table)
  if (options.update !== undefined && options.conflict === undefined)
    throw invalidOption('postgresSink.update', options.update, 'name the columns of `conflict` too')
  const { positions: place = 'sluice_positions' } = options
  const positions = place === false ? undefined : postgresPositions(pool, { table: place })
  return {
    ...(positions && { positions }),
    async write({ records, from, next }, { claim, reject }) {
      // First of all: it locks the row, and whoever has lost the partition writes nothing.
      const advance = claim && positions?.advance(claim, from, next)
      const statements = [...(advance === undefined ? [] : [advance]), savepoint]
      await inTransaction(pool, statements, async (client, [moved]) => {
        const isMoved = advance === undefined || moved!.rowCount === 1
        if (!isMoved && (await positions!.isAdvanced(client, claim!, next))) return false
        const rows = records.map(({ value }) => value)
        const refused = await insert(client, rows, options, ['COMMIT'])
        if (refused === undefined) return true
        await reject(await insertOthers(client, rows, refused, 0, options))
        return false
      })
    },
  }
}

const savepoint = 'SAVEPOINT rows'

/** Inserts rows after a savepoint, and runs what comes last. If they are refused for what they are, says why. */
async function insert(
  client: Connection,
  rows: readonly object[],
  options: PostgresSinkOptions,
  last: readonly string[] = [],
): Promise<string | undefined> {
  if (!rows.every(isRow)) return 'it is no row: write an object with a field for each column'
  try {
    // A row without its key is refused as one whose key is null.
    const names = options.columns ?? namesOf(rows, options.conflict)
    if (rows.length > 0 && options.copy !== false && canCopy(rows, names)) {
      const statements = [...copySql(names, options), ...last].join('; ')
      await client.query(new CopyIn(statements, copyText(rows, names))).done
      return undefined
    }
    if (rows.length > 0) await client.query(insertSql(names, jsonRows(options), options), [JSON.stringify(rows)])
    for (const statement of last) await client.query(statement)
    return undefined
  } catch (error) {
    if (!isDataError(error)) throw error
    await client.query('ROLLBACK TO SAVEPOINT rows')
    return (error as Error).message
  }
}

/** Of rows that were refused together, inserts half and half, until the bad ones are found. */
async function insertOthers(
  client: Connection,
  rows: readonly object[],
  reason: string,
  offset: number,
  options: PostgresSinkOptions,
): Promise<readonly Rejection[]> {
  if (rows.length === 1) return [{ index: offset, reason }]
  const rejections: Rejection[] = []
  const half = rows.length >> 1
  for (const [from, to] of [[0, half] as const, [half, rows.length] as const]) {
    const some = rows.slice(from, to)
    await client.query(savepoint)
    const refused = await insert(client, some, options)
    if (refused !== undefined) rejections.push(...(await insertOthers(client, some, refused, offset + from, options)))
  }
  return rejections
}

/** Whether it is an object with fields; a record can be any value. */
function isRow(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && Object.keys(value).length > 0
}

/** These fields and those that at least one of the rows has. */
function namesOf(rows: readonly object[], known: readonly string[] = []): string[] {
  const names = new Set(known)
  for (const row of rows) for (const name of Object.keys(row)) names.add(name)
  return [...names]
}

/** All rows as one parameter: PostgreSQL gives each field the type of its column. */
const jsonRows = ({ table }: PostgresSinkOptions): string =>
  `json_populate_recordset(NULL::${quoteTable(table)}, $1) WITH ORDINALITY`

const quote = (names: readonly string[]): string[] => names.map((name) => quoteName(name, 'column'))
const copied = 'sluice_copied'

/** Straight into the table, or through a temporary one. */
function copySql(names: readonly string[], options: PostgresSinkOptions): string[] {
  const { table, conflict } = options
  const into = (name: string): string => `COPY ${name} (${quote(names)}) FROM STDIN`
  if (conflict === undefined) return [into(quoteTable(table))]
  return [
    `CREATE TEMP TABLE ${copied} ON COMMIT DROP AS SELECT ${quote(names)} FROM ${quoteTable(table)} WITH NO DATA`,
    `ALTER TABLE ${copied} ADD ordinality serial`,
    into(copied),
    insertSql(names, copied, options),
    `DROP TABLE ${copied}`,
  ]
}

function insertSql(names: readonly string[], from: string, { table, conflict, update }: PostgresSinkOptions): string {
  const [all, keys] = [quote(names), quote(conflict ?? [])]
  const into = `INSERT INTO ${quoteTable(table)} (${all})`
  if (conflict === undefined) return `${into} SELECT ${all} FROM ${from}`
  const set = quote(update ?? names.filter((name) => !conflict.includes(name))).map(
    (name) => `${name} = EXCLUDED.${name}`,
  )
  // One statement cannot update a row twice: of rows with one key, the last counts. In the order of keys, two workers
  // do not wait for each other in a circle.
  const last = `SELECT DISTINCT ON (${keys}) ${all} FROM ${from} ORDER BY ${keys}, ordinality DESC`
  return `${into} ${last} ON CONFLICT (${keys}) DO ${set.length === 0 ? 'NOTHING' : `UPDATE SET ${set}`}`
}
