import { Pool } from 'pg'
import { createLimiter, type Decision } from 'sluice'
import { postgresStore } from 'sluice/postgres'
import type { Contender, Setup } from './contender.ts'
import { allowedExactly, benchPolicyOf } from './sluice-policy.ts'

export async function open(setup: Setup): Promise<Contender<Decision>> {
  const pool = new Pool({ connectionString: setup.postgresUrl })
  const store = await postgresStore(pool)
  const limiter = await createLimiter({ policy: benchPolicyOf(setup), store })
  return {
    decide: (subject) => limiter.take(subject),
    allowed: allowedExactly,
    async close() {
      await limiter.close()
      await store.close()
      await pool.end()
    },
  }
}
