import type pg from 'pg'
import { type Store, stateStore } from 'sluice/store'

/** A store in PostgreSQL, as an outside author would write it: the example of docs/stores.md, held to the suite. */
export async function postgresStore(pool: pg.Pool): Promise<Store> {
  await pool.query('CREATE TABLE IF NOT EXISTS sluice_state (key text PRIMARY KEY, value text, expires_us bigint)')
  return stateStore({
    name: 'postgres',
    async transact(keys, decideOn, withinMs) {
      const client = await pool.connect()
      try {
        await client.query('BEGIN')
        await client.query(`SET LOCAL statement_timeout = ${Math.min(Math.ceil(withinMs), 2 ** 31 - 1)}`)
        // Locked in one order, so that two transactions never wait for each other.
        for (const key of [...keys].sort())
          await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [key])
        const now = await client.query('SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::float8 AS us')
        const { rows } = await client.query('SELECT key, value FROM sluice_state WHERE key = ANY($1)', [keys])
        const found = new Map(rows.map((row) => [row.key, row.value]))
        for (const { key, value, expiresUs } of decideOn(
          keys.map((key) => found.get(key)),
          now.rows[0].us,
        )) {
          if (value === undefined) await client.query('DELETE FROM sluice_state WHERE key = $1', [key])
          else
            await client.query(
              'INSERT INTO sluice_state VALUES ($1, $2, $3) ON CONFLICT (key) DO UPDATE SET value = $2, expires_us = $3',
              [key, value, expiresUs],
            )
        }
        await client.query('COMMIT')
      } catch (error) {
        await client.query('ROLLBACK').catch(() => {})
        throw error
      } finally {
        client.release()
      }
    },
    close: () => pool.end(),
  })
}
