import { spread } from '../measure/stats.ts'
import { countSpread, ratio } from '../report/format.ts'

/** Rates of all contenders by name, ours as `sluice`, with a target against each of the others. */
export function compared(rates: Readonly<Record<string, number[]>>) {
  const spreads = Object.fromEntries(Object.entries(rates).map(([name, each]) => [name, spread(each)]))
  const target = (peer: string, least: number) => {
    const times = spreads.sluice!.median / spreads[peer]!.median
    return {
      claim: `at least ${least}x of ${peer}`,
      ours: countSpread(spreads.sluice!),
      peer: countSpread(spreads[peer]!),
      figure: ratio(times),
      met: times >= least,
    }
  }
  return { spreads, target }
}
