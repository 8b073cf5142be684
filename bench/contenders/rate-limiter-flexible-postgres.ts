import { Pool } from 'pg'
import { RateLimiterPostgres } from 'rate-limiter-flexible'
import type { Contender, Setup } from './contender.ts'

/** One `RateLimiterPostgres`, with an unlogged table as Sluice has it. A denial rejects. */
export async function open({ postgresUrl, prefix, limits }: Setup): Promise<Contender> {
  const pool = new Pool({ connectionString: postgresUrl })
  const { amount, seconds } = limits[0]!
  await pool.query(
    'CREATE UNLOGGED TABLE flexible (key varchar(255) PRIMARY KEY, points integer NOT NULL, expire bigint)',
  )
  const limiter = new RateLimiterPostgres({
    ...{ storeClient: pool, tableName: 'flexible', tableCreated: true },
    ...{ keyPrefix: prefix, points: amount, duration: seconds },
  })
  return {
    decide: (subject) => limiter.consume(subject, 1),
    allowed: () => true,
    close: () => pool.end(),
  }
}
