import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type RedisServer, startRedis } from '../../packages/sluice/src/testing/servers/redis.ts'
import { bundled } from '../bundled.ts'

interface Wait {
  readonly cameMs: number
  readonly throughMs: number
  readonly allowed: boolean
  readonly by: string
}

let childFile: string
let server: RedisServer
beforeAll(async () => {
  childFile = await bundled(join(import.meta.dirname, 'child.ts'))
  server = await startRedis()
})
afterAll(() => server?.stop())

async function startChild(algorithm: string): Promise<ChildProcess> {
  const child = fork(childFile, [String(server.port), algorithm], { execArgv: [] })
  await once(child, 'message')
  return child
}

/** One process has many waiting at the start, and more later; the others come again as soon as they got through. */
const plans = [
  [{ atMs: 0, count: 150 }, ...Array.from({ length: 5 }, (_, i) => ({ atMs: 300 + 150 * i, count: 10 }))],
  [{ atMs: 100, count: 5, untilMs: 2500 }],
  [{ atMs: 200, count: 5, untilMs: 2500 }],
]

test.each(['fixed-window', 'gcra'])(
  'three processes, one greedy, under %s: nobody waits over twice as long as in strict order, nor by polling',
  { timeout: 120_000 },
  async (algorithm) => {
    await server.cli('FLUSHALL')
    await server.cli('CONFIG', 'RESETSTAT')
    const children = await Promise.all(plans.map(() => startChild(algorithm)))
    const results = children.map((child) => once(child, 'message') as Promise<[Wait[]]>)
    for (const [c, child] of children.entries()) child.send(plans[c]!)
    const byProcess = (await Promise.all(results)).map(([waits]) => waits)
    await Promise.all(children.map((child) => child.exitCode ?? once(child, 'exit')))

    const all = byProcess.flat()
    expect(all.every(({ allowed, by }) => allowed && by === 'store')).toBe(true)
    // In strict order, who came as the n-th would have got through as the n-th.
    const came = all.toSorted((a, b) => a.cameMs - b.cameMs)
    const through = all.map(({ throughMs }) => throughMs).sort((a, b) => a - b)
    // One window, as units come in windows, or as many units as timers and round trips may be late.
    const grainMs = 300
    const worst = came
      .map((wait, n) => ({ tookMs: wait.throughMs - wait.cameMs, strictMs: Math.max(0, through[n]! - wait.cameMs) }))
      .filter(({ tookMs, strictMs }) => tookMs > 2 * strictMs + grainMs)
    expect(worst).toEqual([])
    expect(await server.cli('KEYS', '*#line*')).toEqual([])

    const stats = (await server.cli('INFO', 'commandstats')) as unknown as string
    const calls = Number(/cmdstat_evalsha:calls=(\d+)/.exec(String(stats))?.[1])
    const spanMs = through.at(-1)! - came[0]!.cameMs
    console.info(`${algorithm}: ${all.length} waits over ${Math.round(spanMs)} ms, ${calls} script calls`)
    // A unit costs at most a look at the line, at the room, the take and the change, for the three that wait.
    expect(calls).toBeLessThan(algorithm === 'gcra' ? 12 * all.length : 3 * all.length)
  },
)
