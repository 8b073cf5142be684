import { startRedis } from '../packages/sluice/src/testing/servers/redis.ts'
import { type HttpCase, nameOf, runHttpCase } from './http/case.ts'
import { connections, loader } from './http/load.ts'
import { printCase } from './report/print.ts'
import type { CaseResult } from './report/result.ts'

const peers = { fastify: '@fastify/rate-limit', express: 'express-rate-limit', hono: 'hono-rate-limiter' } as const
const frameworks = ['fastify', 'express', 'hono'] as const

const cases: readonly HttpCase[] = frameworks.flatMap((framework): HttpCase[] => [
  { framework, situation: 'allowed in memory', peer: peers[framework], atMost: { overUs: 5 } },
  {
    framework,
    situation: 'allowed on Redis',
    // hono-rate-limiter's store for Redis works with hosted ones only.
    peer: framework === 'hono' ? undefined : peers[framework],
    atMost: { overUs: 10 },
  },
  { framework, situation: 'denied in memory', peer: peers[framework], atMost: { times: 1.1 } },
])

/**
 * Measures what a limiter adds to a request, as CPU time of the server: requests per second against a bare framework
 * are noise on small machines. The control awaits as the limiter does, but limits nothing.
 */
export async function benchHttp(
  options: { readonly rounds?: number; readonly quick?: boolean; readonly only?: string | undefined } = {},
): Promise<CaseResult[]> {
  const { quick = false, rounds = 7, only = '' } = options
  const chosen = cases.filter((each) => nameOf(each).includes(only))
  if (chosen.length === 0)
    throw new Error(`no case of http has ${JSON.stringify(only)} in its name: ${cases.map(nameOf).join('; ')}`)
  const redis = await startRedis()
  const results: CaseResult[] = []
  console.log(`\nhttp: ${connections} connections by ${loader}`)
  try {
    for (const each of chosen) {
      const result = await runHttpCase(each, redis.url, rounds, quick ? 1 : 2)
      printCase(result)
      results.push(result)
    }
  } finally {
    await redis.stop()
  }
  return results
}
