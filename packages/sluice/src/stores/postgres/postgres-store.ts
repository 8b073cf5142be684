import { checkOptionNames, optionNames } from '../../core/check-options.ts'
import { type Duration, parseDuration } from '../../core/duration.ts'
import { type FailureKind, invalidOption, StoreError } from '../../core/errors.ts'
import type { PostgresClient, PostgresPool } from '../../policy/sources/postgres/postgres-client.ts'
import { quoteTable } from '../../policy/sources/postgres/postgres-table.ts'
import { every } from '../../runtime/every.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import { withinTime } from '../../runtime/within-time.ts'
import { type DecideOnValues, stateStore } from '../state-store.ts'
import type { Store, StoreHealth } from '../store.ts'

export interface PostgresStoreOptions {
  /** The table, as `name` or `schema.name`; `sluice_state` unless said otherwise. */
  readonly table?: string
  /** Creates the table when it is not there. True by default. */
  readonly createTable?: boolean
  /** Whether counters survive a crash of the database. Writing is much faster without; false by default. */
  readonly logged?: boolean
  /** How often expired rows are removed, in portions. 1 minute by default. */
  readonly sweep?: Duration
}

const names = optionNames<PostgresStoreOptions>({ table: true, createTable: true, logged: true, sweep: true })

const clock = systemClock()

/** Rows that are removed in one step, so that no step takes long. */
const portion = 5000
/** How often a transaction is begun when rows are missing: they may be swept before they are locked. */
const attempts = 5
/** How long after its deadline a transaction is still waited for; PostgreSQL itself ends statements at the deadline. */
const graceMs = 500

/**
 * Counters in PostgreSQL, for services that have a database and no Redis. Decisions of one moment are one transaction;
 * it also works through PgBouncer in transaction mode. The pool stays yours to close.
 *
 * @example const limiter = await createLimiter({ policy, store: await postgresStore(pool) })
 */
export async function postgresStore(pool: PostgresPool, options: PostgresStoreOptions = {}): Promise<Store> {
  checkOptionNames('postgresStore', options, names)
  if (typeof pool?.connect !== 'function')
    throw invalidOption('postgresStore.pool', pool, 'give a Pool of pg: postgresStore(new pg.Pool())')
  const table = quoteTable(options.table ?? 'sluice_state')
  const sweepMs = parseDuration(options.sweep ?? '1m', 'postgresStore.sweep')
  if (options.createTable !== false) await createTable(pool, table, options.logged === true)
  const stopSweeping = every(sweepMs, clock, () => void sweep(pool, table).catch(() => {}))
  return stateStore({
    name: 'postgres',
    transact: (keys, decideOn, withinMs) => transact(pool, table, keys, decideOn, withinMs),
    health: (withinMs) => health(pool, withinMs),
    close: async () => stopSweeping(),
  })
}

async function createTable(pool: PostgresPool, table: string, isLogged: boolean): Promise<void> {
  // The lock is there because `CREATE TABLE IF NOT EXISTS` is not safe when many run it at once.
  await pool.query(`
    BEGIN;
    SELECT pg_advisory_xact_lock(hashtext('sluice state table'));
    CREATE ${isLogged ? '' : 'UNLOGGED '}TABLE IF NOT EXISTS ${table} (
      key text COLLATE "C" PRIMARY KEY,
      value text,
      expires_us bigint NOT NULL DEFAULT 0
    ) WITH (fillfactor = 70);
    COMMIT`)
}

/** Rows are made outside of transactions, so that those lock only what exists, and always in the same order. */
async function transact(
  pool: PostgresPool,
  table: string,
  keys: readonly string[],
  decideOn: DecideOnValues,
  withinMs: number,
): Promise<void> {
  const endMs = clock.monotonic() + withinMs
  try {
    for (let attempt = 0; attempt < attempts; attempt++) {
      const missing = await withClient(pool, endMs, (client) => transactOnce(client, table, keys, decideOn, endMs))
      if (missing.length === 0) return
      // New rows are not swept before they can be decided on.
      const insert = `INSERT INTO ${table} (key, expires_us)
         SELECT unnest($1::text[]), (extract(epoch FROM clock_timestamp() + interval '1 minute') * 1000000)::bigint
         ON CONFLICT DO NOTHING`
      await withClient(pool, endMs, (client) => client.query(insert, [missing.sort()]))
    }
  } catch (error) {
    throw failureOf(error)
  }
  throw new StoreError('busy', 'PostgreSQL: rows were removed by others again and again.')
}

/** Uses a connection of the pool, and ends it if it is silent: the network may have lost it without a sign. */
async function withClient<T>(
  pool: PostgresPool,
  endMs: number,
  use: (client: PostgresClient) => Promise<T>,
): Promise<T> {
  const leftMs = (): number => endMs - clock.monotonic()
  const late = (): StoreError => new StoreError('timeout', 'PostgreSQL: the pool had no connection until the deadline.')
  const connecting = pool.connect()
  const giveBack = (): void => void connecting.then((client) => client.release()).catch(() => {})
  const client = await withinTime(connecting, { ms: leftMs(), clock, late, givenUp: giveBack })
  let isReleased = false
  const release = (isBroken: boolean): void => {
    if (!isReleased) client.release(isBroken)
    isReleased = true
  }
  const timer = clock.setTimeout(() => release(true), Math.max(0, leftMs()) + graceMs)
  let isBroken = false
  try {
    return await use(client)
  } catch (error) {
    // A connection whose transaction cannot be ended is of no use to anybody else.
    isBroken = await client.query('ROLLBACK').then(
      () => false,
      () => true,
    )
    throw error
  } finally {
    clock.clearTimeout(timer)
    release(isBroken)
  }
}

/** Returns the keys that have no row; then nothing was decided. */
async function transactOnce(
  client: PostgresClient,
  table: string,
  keys: readonly string[],
  decideOn: DecideOnValues,
  endMs: number,
): Promise<string[]> {
  // The pool may have had no connection for a while, and nobody waits for the answer any more.
  const leftMs = Math.floor(endMs - clock.monotonic())
  if (leftMs < 1) throw new StoreError('timeout', 'PostgreSQL: the pool had no connection until the deadline.')
  await client.query(`BEGIN; SET LOCAL statement_timeout = ${Math.min(leftMs, 2 ** 31 - 1)}`)
  const { rows } = await client.query(
    `SELECT key, value, (extract(epoch FROM clock_timestamp()) * 1000000)::float8 AS now_us
     FROM ${table} WHERE key = ANY($1) ORDER BY key FOR UPDATE`,
    [keys],
  )
  const found = rows as readonly { key: string; value: string | null; now_us: number }[]
  const values = new Map(found.map(({ key, value }) => [key, value ?? undefined]))
  if (values.size < keys.length) {
    await client.query('ROLLBACK')
    return keys.filter((key) => !values.has(key))
  }
  if (clock.monotonic() >= endMs) throw new StoreError('timeout', 'PostgreSQL: the rows came after the deadline.')
  const writes = decideOn(
    keys.map((key) => values.get(key)),
    found.reduce((latest, { now_us }) => Math.max(latest, now_us), 0),
  )
  await client.query(
    `UPDATE ${table} AS state SET value = new.value, expires_us = new.expires_us
     FROM unnest($1::text[], $2::text[], $3::bigint[]) AS new (key, value, expires_us) WHERE state.key = new.key`,
    [
      writes.map(({ key }) => key),
      writes.map(({ value }) => value ?? null),
      writes.map(({ value, expiresUs }) => (value === undefined ? 0 : Math.ceil(expiresUs))),
    ],
  )
  await client.query('COMMIT')
  return []
}

/** Removes rows that have expired or are empty, a portion at a time, and none that somebody is deciding on. */
async function sweep(pool: PostgresPool, table: string): Promise<void> {
  for (;;) {
    const { rows } = await pool.query(
      `DELETE FROM ${table} WHERE key IN (
         SELECT key FROM ${table} WHERE expires_us < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint
         LIMIT ${portion} FOR UPDATE SKIP LOCKED
       ) RETURNING 1`,
    )
    if (rows.length < portion) return
  }
}

async function health(pool: PostgresPool, withinMs: number): Promise<StoreHealth> {
  const startMs = clock.monotonic()
  const health = { details: {}, warnings: [] }
  try {
    const late = (): Error => new Error(`it did not answer within ${withinMs} ms`)
    await withinTime(pool.query('SELECT 1'), { ms: withinMs, clock, late })
    return { ...health, reachable: true, roundTripMs: clock.monotonic() - startMs }
  } catch (error) {
    const warnings = [`PostgreSQL: ${(error as Error).message}`]
    return { ...health, reachable: false, roundTripMs: clock.monotonic() - startMs, warnings }
  }
}

/** SQLSTATE classes and codes of the system that say more than "other". */
const kinds: readonly (readonly [RegExp, FailureKind])[] = [
  [/^57014$/, 'timeout'],
  [/^(?:08|57P)/, 'connection'],
  [/^(?:ECONNREFUSED|ENOENT|53300)$/, 'refused'],
  [/^E(?:CONN|PIPE|HOST|TIMEDOUT)/, 'connection'],
  [/^(?:28|42501)/, 'auth'],
  [/^25006$/, 'readonly'],
  [/^53/, 'oom'],
]

function failureOf(error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const { code = '', message } = error as { readonly code?: string; readonly message?: string }
  const kind = kinds.find(([pattern]) => pattern.test(code))?.[1] ?? 'other'
  return new StoreError(kind, `PostgreSQL: ${message ?? error}`, { cause: error })
}
