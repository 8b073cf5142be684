import type { Context } from 'hono'
import { HttpProblem } from '../problem.ts'

/**
 * Refuses an unknown or repeated parameter: where `?dryRun` decides whether a policy is pushed, a spelling mistake must
 * not count as "no".
 */
export function checkQuery(c: Context, known: readonly string[]): void {
  if (!c.req.url.includes('?')) return
  for (const [name, values] of Object.entries(c.req.queries())) {
    if (!known.includes(name)) {
      const wanted = known.length === 0 ? 'this route has none' : `known are ${known.join(', ')}`
      throw new HttpProblem(400, `There is no parameter ${JSON.stringify(name)}; ${wanted}.`)
    }
    if (values.length > 1) throw new HttpProblem(400, `${name} is given ${values.length} times.`)
  }
}

/** A parameter that is on or off: `?dryRun`, `?dryRun=1` and `?dryRun=true` are on. */
export function readFlag(c: Context, name: string): boolean {
  switch (c.req.query(name)?.toLowerCase()) {
    case undefined:
    case '0':
    case 'false':
      return false
    case '':
    case '1':
    case 'true':
      return true
    default:
      throw new HttpProblem(400, `${name} must be true or false.`)
  }
}

/** A parameter that is a whole number within bounds. */
export function readNumber(c: Context, name: string, otherwise: number, least: number, most: number): number {
  const value = c.req.query(name)
  if (value === undefined) return otherwise
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
  if (number >= least && number <= most) return number
  throw new HttpProblem(400, `${name} must be a whole number from ${least} to ${most}.`)
}
