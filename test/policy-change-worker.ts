// One replica of a service under load, for policy-change.test.ts: decides without pause and reports its decisions.
import { Redis } from 'ioredis'
import { Pool } from 'pg'
import { createLimiter, filePolicy } from '../packages/sluice/src/index.ts'
import { postgresPolicy } from '../packages/sluice/src/policy/sources/postgres/postgres.ts'
import { redisPolicy } from '../packages/sluice/src/policy/sources/redis/redis.ts'
import { openRedis } from '../packages/sluice/src/stores/redis/index.ts'
import { amountOf, type Report, type SourceKind } from './policy-change.ts'

const [kind, place = '', storeUrl = ''] = process.argv.slice(2) as [SourceKind, string, string]
// An hour: only a push can bring the change.
const poll = '1h'
const redis = new Redis(storeUrl)
// Patient, and below with a long deadline: this test is not about how fast a busy machine answers.
const handle = openRedis(redis, { socketTimeout: 10_000 })
const pool = kind === 'postgres' ? new Pool({ connectionString: place }) : undefined

function openSource() {
  if (kind === 'file') return filePolicy(place, { poll })
  if (kind === 'redis') return redisPolicy(handle, { key: place, poll })
  return postgresPolicy(pool as Pool, { service: 'shop', poll })
}

const limiter = await createLimiter({ policy: openSource(), redis: handle, deadline: '20s' })
const tell = (report: Report): void => void process.send?.(report)
const seen = { decisions: 0, denied: 0, degraded: 0, mixed: [] as string[] }
const versions = new Set<string>()
let stopping = false

async function decide(lane: number): Promise<void> {
  for (let i = 0; !stopping; i++) {
    const user = `user-${(lane + i) % 8}`
    const decision = await limiter.check({ method: 'GET', path: '/', headers: { 'x-user': user }, ip: '192.0.2.1' })
    const { policyVersion, limits } = decision
    seen.decisions++
    if (!decision.allowed) seen.denied++
    if (decision.degraded) seen.degraded++
    else if (limits.length === 0 || limits.some(({ amount }) => amount !== amountOf(policyVersion))) {
      seen.mixed.push(`${policyVersion}: ${limits.map(({ rule, amount }) => `${rule} ${amount}`).join(', ')}`)
    }
    if (!versions.has(policyVersion)) {
      versions.add(policyVersion)
      tell({ kind: 'version', version: policyVersion, atMs: Date.now() })
    }
    // A denial can be answered without I/O; four busy loops would leave the servers no time.
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
}

process.once('message', async () => {
  stopping = true
  await Promise.all(lanes)
  tell({ kind: 'end', ...seen })
  await limiter.close()
  await pool?.end()
  redis.disconnect()
  process.disconnect()
})

const lanes = [0, 1, 2, 3].map(decide)
