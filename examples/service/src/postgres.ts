import pg from 'pg'
import { readEnv, SettingError } from './env.ts'

/** A pool as its URL says: `postgresql://...?connection_limit=20&pool_timeout=10`, in seconds. Both are 10 if not. */
export function openPool(url: string, usual: { readonly timeoutSeconds?: number } = {}): pg.Pool {
  const address = new URL(url)
  // It has a password, so that it is not printed.
  if (!/^postgres(ql)?:$/.test(address.protocol))
    throw new SettingError(`a URL of PostgreSQL begins with postgresql://, not ${address.protocol}//`)
  const given = readEnv(Object.fromEntries(address.searchParams))
  const number = (name: string, otherwise: number): number => {
    address.searchParams.delete(name)
    return given.whole(name, otherwise, { least: 1 })
  }
  const max = number('connection_limit', 10)
  const connectionTimeoutMillis = number('pool_timeout', usual.timeoutSeconds ?? 10) * 1000
  const pool = new pg.Pool({ connectionString: address.href, max, connectionTimeoutMillis })
  // A connection that breaks while idle is replaced with the next query.
  pool.on('error', () => undefined)
  return pool
}

/** Creates what does not exist. Of processes that start together, one does it while the others wait. */
export async function prepareTables(pool: pg.Pool, statements: string): Promise<void> {
  try {
    await pool.query(`select pg_advisory_xact_lock(25); ${statements}`)
  } catch (error) {
    const { message, code } = error as Error & { code?: string }
    throw new Error(`PostgreSQL at DATABASE_URL: ${message || code}`, { cause: error })
  }
}
