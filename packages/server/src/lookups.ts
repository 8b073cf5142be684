import type { LookupTables } from './config/lookup-tables-of.ts'

export type LookupFunctions = Record<string, (key: string) => Promise<string | null | undefined>>

/** The lookups of a policy; undefined without any, so that their names are accepted and tiers by them not known. */
export async function openLookups(
  lookups: LookupTables,
  opened: (() => unknown)[],
): Promise<LookupFunctions | undefined> {
  if (lookups.size === 0) return undefined
  const { default: pg } = await import('pg')
  const functions: LookupFunctions = {}
  for (const [name, { url, table }] of lookups) {
    const pool = new pg.Pool({ connectionString: url, max: 8, query_timeout: 1000, connectionTimeoutMillis: 1000 })
    pool.on('error', () => {})
    opened.push(() => pool.end())
    const query = `SELECT tier FROM ${table} WHERE key = $1`
    functions[name] = async (key) => (await pool.query<{ tier: string | null }>(query, [key])).rows[0]?.tier
  }
  return functions
}

/** Asks once for each key, and no more once an answer did not come: what asks for very many must not wait for each. */
export function remembered(lookups: LookupFunctions): LookupFunctions {
  const functions: LookupFunctions = {}
  for (const [name, get] of Object.entries(lookups)) {
    const known = new Map<string, ReturnType<typeof get>>()
    let hasFailed = false
    functions[name] = async (key) => {
      if (!known.has(key) && hasFailed) return undefined
      const asked = known.get(key) ?? get(key)
      known.set(key, asked)
      return asked.catch((error) => {
        hasFailed = true
        throw error
      })
    }
  }
  return functions
}
