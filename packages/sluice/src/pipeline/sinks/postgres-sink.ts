import { checkOptionNames } from '../../core/check-options.ts'
import { invalidOption } from '../../core/errors.ts'
import { quoteName, quoteTable } from '../../policy/sources/postgres/postgres-table.ts'
import type { PipelineSink, Rejection } from '../pipeline.ts'
import { sinkPositions } from '../positions/postgres-positions.ts'
import { type Connection, inTransaction, isDataError, type PipelinePool, type QueryResult } from '../postgres-client.ts'
import { CopyIn, canCopy, copiesOf, copyText } from './copy-in.ts'

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
  const positions = options.positions === false ? undefined : sinkPositions(pool, options.positions)
  return {
    ...(positions && { positions }),
    async write({ records, from, next }, { claim, reject }) {
      const rows = records.map(({ value }) => value)
      // First of all: it locks the row, and whoever has lost the partition writes nothing.
      const advance = claim && positions?.advance(claim, from, next)
      await inTransaction(pool, async (client) => {
        const first = [...begin, ...(advance === undefined ? [] : [orFail(advance)])]
        if ((await insert(client, rows, options, first, ['COMMIT'], 'ROLLBACK')) === undefined) return
        // Something was refused: the rows, or the worker. Step by step it shows which.
        const results = (await client.query([...begin, advance ?? ''].join('; '))) as unknown as readonly QueryResult[]
        const isMoved = advance === undefined || results.at(-1)!.rowCount === 1
        if (isMoved || !(await positions!.isAdvanced(client, claim!, next)))
          await reject(await insertGood(client, rows, options))
        await client.query('COMMIT')
      })
    },
  }
}

/** The row of the position is locked until the end: a worker that hangs in between must not keep it. */
const begin = ['BEGIN', "SET LOCAL idle_in_transaction_session_timeout = '30s'"]
/** A statement that fails, as one about data does, when the other one changes no row. */
const orFail = (statement: string): string =>
  `WITH changed AS (${statement} RETURNING 1) SELECT 1 / count(*) FROM changed`

/**
 * Inserts rows between other statements; all in one round trip, if they go by COPY. If they are refused for what they
 * are, undoes it and says why.
 */
async function insert(
  client: Connection,
  rows: readonly object[],
  options: PostgresSinkOptions,
  before: readonly string[],
  after: readonly string[],
  undo: string,
): Promise<string | undefined> {
  if (!rows.every(isRow)) return 'it is no row: write an object with a field for each column'
  // A row without its key is refused as one whose key is null.
  const names = options.columns ?? namesOf(rows, options.conflict)
  try {
    if (options.copy !== false && canCopy(rows, names)) {
      const copies = copiesOf(rows)
      const text = [...before, ...copySql(names, copies.length, options), ...after].join('; ')
      const numbers = options.conflict && { next: 0 }
      await client.query(
        new CopyIn(
          text,
          copies.map((each) => copyText(each, names, numbers)),
        ),
      ).done
      return undefined
    }
    await client.query(before.join('; '))
    if (rows.length > 0) await client.query(insertSql(names, jsonRows(options), options), [JSON.stringify(rows)])
    if (after.length > 0) await client.query(after.join('; '))
    return undefined
  } catch (error) {
    if (!isDataError(error)) throw error
    await client.query(undo)
    return (error as Error).message
  }
}

/** Inserts all rows but those that PostgreSQL refuses, at once or at the end of the transaction. */
async function insertGood(
  client: Connection,
  rows: readonly object[],
  options: PostgresSinkOptions,
): Promise<readonly Rejection[]> {
  const check = 'SET CONSTRAINTS ALL IMMEDIATE'
  await client.query('SAVEPOINT batch')
  const rejections = await insertByHalves(client, rows, 0, options, [])
  try {
    await client.query(check)
    return rejections
  } catch (error) {
    if (!isDataError(error)) throw error
    await client.query('ROLLBACK TO SAVEPOINT batch')
    return insertByHalves(client, rows, 0, options, [check])
  }
}

/** Inserts rows; if they are refused together, half and half, until the bad ones are found. */
async function insertByHalves(
  client: Connection,
  rows: readonly object[],
  offset: number,
  options: PostgresSinkOptions,
  checks: readonly string[],
): Promise<readonly Rejection[]> {
  const refused = await insert(client, rows, options, ['SAVEPOINT rows'], checks, 'ROLLBACK TO SAVEPOINT rows')
  if (refused === undefined) return []
  if (rows.length === 1) return [{ index: offset, reason: refused }]
  const half = rows.length >> 1
  const rejections = await insertByHalves(client, rows.slice(0, half), offset, options, checks)
  return [...rejections, ...(await insertByHalves(client, rows.slice(half), offset + half, options, checks))]
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

/** Straight into the table, or through a temporary one; the rows in so many COPYs. */
function copySql(names: readonly string[], copies: number, options: PostgresSinkOptions): string[] {
  const { table, conflict } = options
  const into = (name: string, columns: readonly string[]): string[] =>
    Array(copies).fill(`COPY ${name} (${columns}) FROM STDIN`)
  const all = quote(names)
  if (conflict === undefined || copies === 0) return into(quoteTable(table), all)
  const numbered = `SELECT ${all}, 0 AS ordinality FROM ${quoteTable(table)}`
  return [
    `CREATE TEMP TABLE ${copied} ON COMMIT DROP AS ${numbered} WITH NO DATA`,
    ...into(copied, [...all, 'ordinality']),
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
