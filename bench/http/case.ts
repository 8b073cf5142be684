import { type Spread, spread } from '../measure/stats.ts'
import { progress } from '../report/print.ts'
import type { CaseResult, TargetResult } from '../report/result.ts'
import { load } from './load.ts'
import { ServerProcess } from './server-process.ts'
import type { Framework, Role, ServerSpec, Situation } from './spec.ts'

export interface HttpCase {
  readonly framework: Framework
  readonly situation: Situation
  /** The best-known limiter of the framework, if it can do this. */
  readonly peer: string | undefined
  /** At most so many microseconds over the control, or so many times it. */
  readonly atMost: { readonly overUs: number } | { readonly times: number }
}

type Rounds = Map<Role, number[]>

const turnMs = 1000
const warmUpRequests = 12_000

/** What a case is called, as in `fastify, allowed in memory`. */
export const nameOf = ({ framework, situation }: HttpCase): string => `${framework}, ${situation}`

/**
 * Measures the CPU time per request of a case: all servers are started, and each runs for a second in turn. Rounds
 * alternate between forward and backward order, so that a machine that slows down meanwhile affects all of them.
 */
export async function runHttpCase(
  spec: HttpCase,
  redisUrl: string,
  rounds: number,
  turnsPerRound: number,
): Promise<CaseResult> {
  const { framework, situation, peer } = spec
  progress(`http: ${nameOf(spec)}`)
  const roles: Role[] = peer === undefined ? ['sluice', 'control'] : ['sluice', 'control', 'peer']
  const servers = new Map<Role, ServerProcess>()
  const measured: Rounds = new Map(roles.map((role) => [role, []]))
  try {
    for (const role of roles) {
      const own: ServerSpec = { framework, situation, redisUrl, role }
      servers.set(role, await ServerProcess.open(`${role} (${nameOf(spec)})`, own))
    }
    for (const role of roles) await warmUp(servers.get(role)!)
    for (let round = 0; round < rounds; round++) {
      const used = new Map(roles.map((role) => [role, { cpuUs: 0, requests: 0 }]))
      for (let turn = 0; turn < turnsPerRound; turn++) {
        for (const role of turn % 2 === 0 ? roles : roles.toReversed()) {
          await takeTurn(servers.get(role)!, situation, used.get(role)!)
        }
      }
      for (const [role, { cpuUs, requests }] of used) measured.get(role)!.push(cpuUs / requests)
    }
  } finally {
    await Promise.allSettled([...servers.values()].map((server) => server.close()))
  }
  return resultOf(spec, measured)
}

/**
 * By number and not by time, as the compiler has to see the code often enough also on a machine that is busy with other
 * work.
 */
async function warmUp(server: ServerProcess): Promise<void> {
  for (let requests = 0; requests < warmUpRequests; ) requests += (await load(server.url, turnMs)).requests
}

async function takeTurn(
  server: ServerProcess,
  situation: Situation,
  used: { cpuUs: number; requests: number },
): Promise<void> {
  const before = await server.cpuUs()
  const { requests, refused } = await load(server.url, turnMs)
  used.cpuUs += (await server.cpuUs()) - before
  used.requests += requests
  const passed = requests - refused
  // The first request of a denied case passes.
  const unexpected = situation.startsWith('denied') ? Math.max(0, passed - 1) : refused
  if (requests === 0 || unexpected > 0) {
    throw new Error(
      `${server.label}: ${unexpected} of ${requests} requests were answered with the wrong kind of status`,
    )
  }
}

function resultOf({ framework, situation, peer, atMost }: HttpCase, measured: Rounds): CaseResult {
  const ours = measured.get('sluice')!
  const control = measured.get('control')!
  // Neighbouring rounds ran under the same conditions, so their difference is steadier than that of two medians.
  const over = spread(ours.map((us, round) => us - control[round]!))
  const times = spread(ours.map((us, round) => us / control[round]!))
  const names: Record<Role, string> = {
    sluice: 'sluice, 4 limits',
    control: situation.startsWith('denied') ? 'static 429' : 'control that only awaits',
    peer: peer ?? '',
  }
  const rows = [...measured].map(([role, values]) => [names[role], us(spread(values)), ...beside(values, control)])
  const targets: TargetResult[] = [
    'overUs' in atMost
      ? target(
          `at most ${atMost.overUs} us over the control`,
          ours,
          control,
          `${over.median < 0 ? '' : '+'}${us(over)}`,
          over.median <= atMost.overUs,
        )
      : target(`at most ${atMost.times}x ${names.control}`, ours, control, ratio(times), times.median <= atMost.times),
  ]
  const theirs = measured.get('peer')
  if (theirs) {
    const to = spread(theirs.map((value, round) => ours[round]! / value))
    targets.push(target(`below ${names.peer}`, ours, theirs, ratio(to), to.median < 1))
  }
  return {
    section: 'http',
    title: `${framework}, ${situation}, CPU us per request`,
    table: [['', 'CPU us', 'over the control', 'times the control'], ...rows],
    figures: Object.fromEntries(measured),
    targets,
  }
}

function target(claim: string, ours: number[], other: number[], figure: string, met: boolean): TargetResult {
  return { claim, ours: us(spread(ours)), peer: us(spread(other)), figure, met }
}

const beside = (values: readonly number[], control: readonly number[]): string[] =>
  values === control
    ? ['', '']
    : [
        us(spread(values.map((value, round) => value - control[round]!))),
        ratio(spread(values.map((value, round) => value / control[round]!))),
      ]

const us = ({ median, min, max }: Spread): string => `${median.toFixed(1)} (${min.toFixed(1)} to ${max.toFixed(1)})`
const ratio = ({ median, min, max }: Spread): string => `${median.toFixed(2)}x (${min.toFixed(2)}-${max.toFixed(2)})`
