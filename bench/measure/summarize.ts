import { count, countSpread, micros, ratio, ratioSpread } from '../report/format.ts'
import type { CaseResult, TargetResult } from '../report/result.ts'
import type { RoundResult } from './round.ts'
import { type Spread, spread } from './stats.ts'

/** At least so many times a peer's decisions per second, or at most so much CPU per decision. */
export type CaseTarget = { readonly against: string; readonly atLeast: number } | { readonly cpuUsAtMost: number }

interface Figures {
  readonly label: string
  readonly perSecond: Spread
  readonly p50Us: Spread
  readonly p99Us: Spread
  readonly cpuUs: Spread
  readonly redisUs: Spread
  /** Ours over this one, round by round. */
  readonly ratio: Spread
  /** Its CPU per decision over ours, round by round: steadier than time on a machine with other work. */
  readonly cpuRatio: Spread
}

/** Turns the rounds of a case into its result. The first label is ours. */
export function summarize(
  section: string,
  title: string,
  rounds: ReadonlyMap<string, readonly RoundResult[]>,
  targets: readonly CaseTarget[],
): CaseResult {
  const ours = [...rounds.values()][0]!
  const figures = [...rounds].map(([label, own]) => figuresOf(label, own, ours))
  const heading = ['contender', 'decisions/s', 'p50 us', 'p99 us', 'CPU us', 'Redis us', 'ours is', 'by CPU']
  return {
    section,
    title,
    table: [heading, ...figures.map((own, index) => rowOf(own, index === 0))],
    figures,
    targets: targets.map((target) => judge(target, figures)),
  }
}

function figuresOf(label: string, own: readonly RoundResult[], ours: readonly RoundResult[]): Figures {
  return {
    label,
    perSecond: spread(own.map(({ perSecond }) => perSecond)),
    p50Us: spread(own.map(({ p50Us }) => p50Us)),
    p99Us: spread(own.map(({ p99Us }) => p99Us)),
    cpuUs: spread(own.map(({ cpuUs }) => cpuUs)),
    redisUs: spread(own.map(({ redisUs = Number.NaN }) => redisUs)),
    // Neighbouring rounds ran under the same conditions, so their ratio is steadier than that of two medians.
    ratio: spread(own.map(({ perSecond }, round) => ours[round]!.perSecond / perSecond)),
    cpuRatio: spread(own.map(({ cpuUs }, round) => cpuUs / ours[round]!.cpuUs)),
  }
}

function rowOf({ label, perSecond, p50Us, p99Us, cpuUs, redisUs, ...to }: Figures, isOurs: boolean): string[] {
  const times = [p50Us, p99Us, cpuUs, redisUs].map(({ median }) => known(median, micros))
  const ratios = isOurs ? ['', ''] : [ratioSpread(to.ratio), known(to.cpuRatio.median, ratio)]
  return [label, countSpread(perSecond), ...times, ...ratios]
}

/** redis-benchmark is not a Node process whose CPU time could be read, and in memory there is no Redis. */
function known(value: number, format: (value: number) => string): string {
  return Number.isNaN(value) ? '-' : format(value)
}

function judge(target: CaseTarget, figures: readonly Figures[]): TargetResult {
  const ours = figures[0]!
  if ('cpuUsAtMost' in target) {
    const cpu = `${micros(ours.cpuUs.median)} us`
    const claim = `at most ${target.cpuUsAtMost} us of Node CPU per decision`
    return { claim, ours: cpu, peer: '-', figure: cpu, met: ours.cpuUs.median <= target.cpuUsAtMost }
  }
  const peer = figures.find(({ label }) => label === target.against)
  if (peer === undefined) throw new Error(`no contender is called ${target.against}`)
  return {
    claim: target.atLeast === 1 ? `not slower than ${target.against}` : `>= ${target.atLeast}x ${target.against}`,
    ours: count(ours.perSecond.median),
    peer: count(peer.perSecond.median),
    figure: ratio(peer.ratio.median),
    met: peer.ratio.median >= target.atLeast,
  }
}
