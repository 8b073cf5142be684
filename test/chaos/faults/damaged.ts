import type { Limiter } from '../../../packages/sluice/src/limiter/limiter.ts'
import { type RedisServer, startRedis } from '../../../packages/sluice/src/testing/servers/redis.ts'
import { libraries, singleClient } from '../clients.ts'
import { pause } from '../load.ts'
import { runTrial } from '../run.ts'
import type { Context, Row, Scenario } from '../scenario.ts'
import { inTurn } from './single.ts'

/** What may be at a key that is not a state of ours: lists that Redis packs itself, and other types. */
const lists = [
  "now, 1, 'x', 'y'",
  'now, 1, {}, {}',
  'now, 1, 5',
  'now, 1, 5, -1000',
  'now, 1, 5, 0/0',
  '0/0, 1, 5, 1',
  "now, 1, 5, 1, 127, { 'id', 'x' }",
  "now, 34, 'x'",
]
const commands = [
  ['SET', 'hello'],
  ['SET', ''],
  ['RPUSH', 'x'],
  ['SADD', 'x'],
] as const

async function damage(redis: RedisServer, key: string, n: number): Promise<void> {
  await redis.cli('DEL', key)
  const command = commands[n % (lists.length + commands.length)]
  if (command !== undefined) {
    await redis.cli(command[0], key, command[1])
    return
  }
  const list = lists[(n % (lists.length + commands.length)) - commands.length]
  const script = `local t = redis.call('TIME') local now = t[1] * 1000000 + t[2]
return redis.call('SET', KEYS[1], cmsgpack.pack({ ${list} }))`
  await redis.cli('EVAL', script, '1', key)
}

/** Damages a subject, uses it beside the load, repairs it, and returns what was wrong. */
async function damageOnce(redis: RedisServer, limiter: Limiter, service: string, n: number): Promise<string[]> {
  const subject = `damaged-${n}`
  const wrong: string[] = []
  await damage(redis, `sluice:${service}/once/${subject}`, n)
  const asked = await Promise.all([1, 2, 3].map(() => limiter.take(subject, { rule: 'once' })))
  if (!asked.every(({ allowed, failure }) => !allowed && failure === 'wrongtype'))
    wrong.push(`took value ${n} for its own`)
  await limiter.reset(subject, { rule: 'once' })
  const { allowed, degraded } = await limiter.take(subject, { rule: 'once' })
  if (!allowed || degraded) wrong.push(`value ${n} was not repaired`)
  return wrong
}

async function trial(library: (typeof libraries)[number], context: Context): Promise<Row> {
  const redis = await startRedis()
  const client = (): ReturnType<typeof singleClient> => singleClient(library, redis.port)
  const rounds = Math.max(12, Math.round(240 * context.scale))
  const wrong: string[] = []
  let neighbours = 0
  try {
    const row = await runTrial(
      {
        fault: `${library}: ${rounds} damaged values beside the load`,
        client,
        auditor: client,
        inject: async (load, limiter, service) => {
          for (let n = 0; n < rounds; n++) {
            wrong.push(...(await damageOnce(redis, limiter, service, n)))
            await pause(10)
          }
          neighbours = load.degraded
          return undefined
        },
      },
      context,
    )
    if (neighbours > 0) wrong.push(`${neighbours} decisions on other subjects failed`)
    return { ...row, wrong: [...row.wrong, ...new Set(wrong)] }
  } finally {
    await redis.stop()
  }
}

export const damaged: readonly Scenario[] = [
  {
    name: 'damaged-values',
    run: (context) => inTurn(libraries.map((library) => () => trial(library, context))),
  },
]
