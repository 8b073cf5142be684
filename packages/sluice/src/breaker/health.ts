import type { PartHealth } from '../runtime/part.ts'
import type { BreakerStats } from './stats.ts'

/** How many breakers are named in warnings. */
const mostNamed = 10

/** The health of breakers: those that are not closed are warnings. `closed` says that `close` was called. */
export function breakerHealth(breakers: readonly BreakerStats[], closed: string | undefined): PartHealth {
  if (closed !== undefined) return { ready: false, reasons: [`${closed}.`], warnings: [] }
  const tripped = breakers.filter(({ state }) => state !== 'closed')
  const warnings = tripped.slice(0, mostNamed).map(({ key, state, isolated }) => {
    const why = isolated ? 'isolated by hand' : `${state}: its calls have failed repeatedly`
    return `The breaker ${JSON.stringify(key)} is ${why}.`
  })
  if (tripped.length > mostNamed) warnings.push(`${tripped.length - mostNamed} more breakers are not closed.`)
  return { ready: true, reasons: [], warnings }
}
