import { Agent, request } from 'undici'
import { interleave } from '../measure/interleave.ts'
import type { RoundResult } from '../measure/round.ts'
import { spread } from '../measure/stats.ts'
import { summarize } from '../measure/summarize.ts'
import { ratio } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult } from '../report/result.ts'
import { MeasuredServer } from '../server/process.ts'

const child = new URL('./proxy-child.ts', import.meta.url)
const connections = 32
const mostCpu = 1.4

/** The proxy, with limits that are never reached, against a minimal forwarder with the same client. */
export async function benchProxy(rounds: number, roundMs: number): Promise<CaseResult[]> {
  const servers: MeasuredServer[] = []
  const start = async (...args: string[]): Promise<MeasuredServer> => {
    const server = await MeasuredServer.script(child, ...args)
    servers.push(server)
    return server
  }
  try {
    const vendor = await start('vendor')
    progress(`egress: the proxy, ${connections} connections`)
    const entrants = await Promise.all(
      ['sluice', 'pass-through'].map(async (label) => {
        const server = await start(label, vendor.origin)
        return { label, round: () => load(server, roundMs) }
      }),
    )
    const found = await interleave(entrants, rounds)
    const result = summarize('egress', `the proxy, ${connections} connections`, found, [
      { against: 'pass-through', atLeast: 0.7 },
    ])
    const [ours, bare] = [...found.values()] as [RoundResult[], RoundResult[]]
    const more = spread(ours.map(({ cpuUs }, round) => cpuUs / bare[round]!.cpuUs)).median
    const claim = `at most ${mostCpu}x the CPU of pass-through per request`
    const target = { claim, ours: ratio(more), peer: '1', figure: ratio(more), met: more <= mostCpu }
    return [{ ...result, targets: [...result.targets, target] }]
  } finally {
    await Promise.allSettled(servers.map((server) => server.close()))
  }
}

/** Posts as fast as answers arrive, for some time. */
async function load(server: MeasuredServer, ms: number): Promise<RoundResult> {
  const dispatcher = new Agent({ connections, pipelining: 1 })
  const tookUs: number[] = []
  const cpuUs = server.cpuUs()
  const begunMs = performance.now()
  const caller = async (): Promise<void> => {
    while (performance.now() < begunMs + ms) {
      const askedMs = performance.now()
      const about = { method: 'POST' as const, body: '{"query":"{ shop { name } }"}', dispatcher }
      const { statusCode, body } = await request(`${server.origin}/graphql`, about)
      await body.dump()
      if (statusCode !== 200) throw new Error(`status ${statusCode}`)
      tookUs.push((performance.now() - askedMs) * 1000)
    }
  }
  await Promise.all(Array.from({ length: connections }, caller))
  const seconds = (performance.now() - begunMs) / 1000
  await dispatcher.close()
  tookUs.sort((a, b) => a - b)
  const at = (share: number): number => tookUs[Math.floor((tookUs.length - 1) * share)]!
  return {
    decisions: tookUs.length,
    perSecond: tookUs.length / seconds,
    p50Us: at(0.5),
    p99Us: at(0.99),
    cpuUs: (server.cpuUs() - cpuUs) / tookUs.length,
  }
}
