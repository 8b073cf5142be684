import pg from 'pg'
import { startPostgres, storeConformance } from 'sluice/testing'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { postgresStore } from './postgres-store.ts'

// Only public entry points are used here: this is what an outside author has.
storeConformance(
  { afterAll, beforeAll, describe, it },
  {
    name: 'a store in PostgreSQL',
    start: async () => {
      const server = await startPostgres()
      const pool = new pg.Pool({ connectionString: server.url, max: 8 })
      // Connections that are being closed may still receive that the server stops.
      pool.on('error', () => {})
      pool.on('connect', (client) => client.on('error', () => {}))
      const store = await postgresStore(pool)
      const stop = async (): Promise<void> => {
        await store.close()
        await server.stop()
      }
      return { store, stop }
    },
  },
)
