import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Spread, spread } from './measure/stats.ts'
import { countSpread, micros, ratio, ratioSpread } from './report/format.ts'
import { printCase, progress } from './report/print.ts'
import type { CaseResult } from './report/result.ts'
import { MeasuredServer } from './server/process.ts'
import { hasWrk, post } from './server/wrk.ts'

const batch = 100
const policy = `service: bench
rules:
  - name: per-user
    limits: { rps: 1000000000, rpm: 10000000000, rph: 10000000000, rpd: 10000000000 }
`

interface Round {
  readonly decisionsPerSecond: number
  readonly cpuUs: number
  readonly errors: number
}

interface Entrant {
  readonly label: string
  readonly server: MeasuredServer
  readonly size: number
}

/**
 * Measures the daemon from outside: single checks against a bare handler of the same framework, a batch against single
 * checks, and many connections at once. The daemon counts, logs and keeps its metrics as it does in production.
 */
export async function benchServer(
  options: { readonly rounds?: number; readonly quick?: boolean } = {},
): Promise<CaseResult[]> {
  const { quick = false, rounds = 7 } = options
  if (!hasWrk) {
    progress('server: skipped, as wrk is not installed (Debian: apt-get install wrk)')
    return []
  }
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  const file = join(folder, 'policy.yaml')
  writeFileSync(file, policy)
  const servers: MeasuredServer[] = []
  try {
    const daemon = await MeasuredServer.daemon(file)
    servers.push(daemon)
    const bare = await MeasuredServer.bare()
    servers.push(bare)
    const entrants: Entrant[] = [
      { label: 'sluice, single', server: daemon, size: 1 },
      { label: 'bare handler', server: bare, size: 1 },
      { label: `sluice, ${batch} at once`, server: daemon, size: batch },
    ]
    const results = [ratios(await interleaved(entrants, rounds, quick ? 1 : 2)), await crowd(daemon, quick ? 3 : 10)]
    for (const result of results) printCase(result)
    return results
  } finally {
    await Promise.allSettled(servers.map((server) => server.close()))
    rmSync(folder, { recursive: true, force: true })
  }
}

/**
 * Warms every entrant up, and then measures all of them in turn: the speed of the machine changes within minutes, but
 * little from round to round.
 */
async function interleaved(
  entrants: readonly Entrant[],
  rounds: number,
  seconds: number,
): Promise<Map<string, Round[]>> {
  const measured = new Map<string, Round[]>(entrants.map(({ label }) => [label, []]))
  for (const { server, size } of entrants) await post(server.url, { connections: 64, seconds: 2, size })
  for (let round = 0; round < rounds; round++) {
    progress(`server: round ${round + 1} of ${rounds}`)
    for (const { label, server, size } of round % 2 === 0 ? entrants : entrants.toReversed()) {
      const before = server.cpuUs()
      const { requests, perSecond, errors } = await post(server.url, { connections: 64, seconds, size })
      const cpuUs = (server.cpuUs() - before) / (requests * size)
      measured.get(label)!.push({ decisionsPerSecond: perSecond * size, cpuUs, errors })
    }
  }
  return measured
}

const medianCpu = (rounds: readonly Round[]): number => spread(rounds.map(({ cpuUs }) => cpuUs)).median

function ratios(measured: ReadonlyMap<string, readonly Round[]>): CaseResult {
  const [single, bare, batched] = [...measured.values()] as [Round[], Round[], Round[]]
  const speed = (rounds: readonly Round[]): Spread => spread(rounds.map(({ decisionsPerSecond }) => decisionsPerSecond))
  // Neighbouring rounds ran under the same conditions, so their ratio is steadier than that of two medians.
  const beside = (rounds: readonly Round[], to: readonly Round[]): Spread =>
    spread(rounds.map(({ decisionsPerSecond }, round) => decisionsPerSecond / to[round]!.decisionsPerSecond))
  const target = (claim: string, ours: readonly Round[], peer: readonly Round[], atLeast: number) => {
    const found = beside(ours, peer)
    const figures = { ours: countSpread(speed(ours)), peer: countSpread(speed(peer)), figure: ratioSpread(found) }
    return { claim, ...figures, met: found.median >= atLeast }
  }
  const rows = [...measured].map(([label, rounds]) => [
    label,
    countSpread(speed(rounds)),
    micros(medianCpu(rounds)),
    ratioSpread(beside(rounds, bare)),
    // Steadier than time where other programs run too.
    ratio(medianCpu(bare) / medianCpu(rounds)),
  ])
  const errors = [...measured.values()].flat().reduce((sum, round) => sum + round.errors, 0)
  return {
    section: 'server',
    title: 'POST /v1/check in memory, 64 connections',
    table: [['', 'decisions/s', 'CPU us', 'beside bare', 'by CPU'], ...rows],
    figures: Object.fromEntries(measured),
    targets: [
      target('single checks at least 0.6x a bare handler', single, bare, 0.6),
      target('a batch at least 5x single checks', batched, single, 5),
      { claim: 'no errors', ours: String(errors), peer: '', figure: `${errors} errors`, met: errors === 0 },
    ],
  }
}

/** Many connections for some time. */
async function crowd(daemon: MeasuredServer, seconds: number): Promise<CaseResult> {
  progress(`server: 256 connections for ${seconds} s`)
  const { requests, perSecond, errors } = await post(daemon.url, { connections: 256, seconds, size: 1 })
  const figure = `${errors} errors`
  return {
    section: 'server',
    title: `POST /v1/check in memory, 256 connections for ${seconds} s`,
    table: [
      ['requests', 'per second', 'errors'],
      [requests, Math.round(perSecond), errors].map((value) => value.toLocaleString('en-US')),
    ],
    figures: { requests, perSecond, errors },
    targets: [{ claim: 'no errors with 256 connections', ours: figure, peer: '', figure, met: errors === 0 }],
  }
}
