import { existsSync } from 'node:fs'
import { spread } from '../measure/stats.ts'
import { count, ratio } from '../report/format.ts'
import { progress } from '../report/print.ts'
import type { CaseResult, TargetResult } from '../report/result.ts'
import { child } from './child.ts'
import { type ContenderName, sqliteHome } from './contenders.ts'

interface Round {
  readonly perSecond: number
  readonly p99Ms: number
}

const rows: readonly (readonly [ContenderName, number])[] = [
  ['raw', 1],
  ['raw, blocking', 1],
  ['sluice', 1],
  ['sluice', 64],
  ['sluice', 512],
  ['sluice', 2048],
  ['better-sqlite3', 64],
  ['better-sqlite3', 512],
  ['level', 64],
  ['level', 512],
]

const targets: readonly (readonly [writers: number, atLeast: number])[] = [
  [1, 0.8],
  [64, 30],
  [512, 85],
]

const median = (values: readonly number[]): number => spread(values).median

/**
 * Durable events per second by number of writers, compared with the raw rate of the disk in the same rounds, and peers.
 */
export async function benchAppend(rounds: number, ms: number): Promise<CaseResult[]> {
  const hasSqlite = existsSync(sqliteHome.replace('package.json', 'node_modules/better-sqlite3'))
  if (!hasSqlite) progress('better-sqlite3 is left out: npm install --no-save --prefix .cache/bench better-sqlite3@^12')
  const measured = rows.filter(([name]) => hasSqlite || name !== 'better-sqlite3')
  const results = new Map<string, Round[]>(measured.map(([name, writers]) => [`${name} ${writers}`, []]))
  for (let round = 0; round < rounds; round++) {
    progress(`shipper: append, round ${round + 1} of ${rounds}`)
    for (const [name, writers] of round % 2 === 0 ? measured : [...measured].reverse()) {
      results.get(`${name} ${writers}`)?.push(await child<Round>('./append-child.ts', [name, writers, ms]))
    }
  }
  const rate = (key: string): number => median((results.get(key) ?? []).map(({ perSecond }) => perSecond))
  /** Round by round, because the speed of the disk changes over time. */
  const against = (ours: string, theirs: string): number =>
    median(
      (results.get(ours) ?? []).map(({ perSecond }, i) => perSecond / (results.get(theirs)?.[i]?.perSecond ?? NaN)),
    )
  const table = measured.map(([name, writers]) => {
    const key = `${name} ${writers}`
    const p99 = median((results.get(key) ?? []).map(({ p99Ms }) => p99Ms))
    const peer = name === 'sluice' || name.startsWith('raw') ? '' : ratio(against(`sluice ${writers}`, key))
    return [name, String(writers), count(rate(key)), p99.toFixed(2), ratio(against(key, 'raw 1')), peer]
  })
  return [
    {
      section: 'shipper',
      title: 'store 200-byte events, each durable before it is acknowledged',
      table: [['contender', 'writers', 'events/s', 'p99 ms', 'of raw', 'ours is'], ...table],
      figures: Object.fromEntries(results),
      targets: targets.map(([writers, atLeast]): TargetResult => {
        const key = `sluice ${writers}`
        const figure = against(key, 'raw 1')
        return {
          claim: `${writers} writers: at least ${atLeast}x the raw rate`,
          ours: count(rate(key)),
          peer: count(rate('raw 1')),
          figure: ratio(figure),
          met: figure >= atLeast,
        }
      }),
    },
  ]
}
