import { Client } from 'pg'
import { expect, test } from 'vitest'
import { gone } from './gone.ts'
import { startPostgres } from './postgres.ts'

test('keeps its data through a restart, can be frozen, and leaves nothing behind', async () => {
  const server = await startPostgres()
  const query = async (text: string, timeoutMs = 10_000): Promise<unknown[]> => {
    const client = new Client({ connectionString: server.url, connectionTimeoutMillis: timeoutMs })
    client.on('error', () => {})
    await client.connect()
    try {
      return (await client.query(text)).rows
    } finally {
      await client.end()
    }
  }
  try {
    await query('create table t (a int); insert into t values (1)')
    const { pid } = server
    await server.restart()
    expect(server.pid).not.toBe(pid)
    expect(await query('select a from t')).toEqual([{ a: 1 }])
    await server.freeze()
    await expect(query('select 1', 200)).rejects.toThrow()
    server.thaw()
    expect(await query('select a from t')).toEqual([{ a: 1 }])
    await server.freeze()
  } finally {
    await server.stop()
  }
  await gone([server.pid])
})
