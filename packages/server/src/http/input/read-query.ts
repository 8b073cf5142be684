import type { Context } from 'hono'
import { HttpProblem } from '../problem.ts'

/**
 * The parameters of a request. An unknown or repeated one is refused: where `?dryRun` decides whether a policy is
 * pushed, a spelling mistake must not count as "no".
 */
export function readQuery<Name extends string>(
  c: Context,
  ...known: readonly Name[]
): Readonly<Partial<Record<Name, string>>> {
  const given: Partial<Record<Name, string>> = {}
  if (!c.req.url.includes('?')) return given
  for (const [name, values] of Object.entries(c.req.queries())) {
    if (!(known as readonly string[]).includes(name)) {
      const wanted = known.length === 0 ? 'this route has none' : `known are ${known.join(', ')}`
      throw new HttpProblem(400, `There is no parameter ${JSON.stringify(name)}; ${wanted}.`)
    }
    if (values.length > 1) throw new HttpProblem(400, `${name} is given ${values.length} times.`)
    given[name as Name] = values[0]
  }
  return given
}

/** A parameter that is on or off: `?dryRun`, `?dryRun=1` and `?dryRun=true` are on. */
export function readFlag(name: string, value: string | undefined): boolean {
  switch (value?.toLowerCase()) {
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
export function readNumber(
  name: string,
  value: string | undefined,
  otherwise: number,
  least: number,
  most: number,
): number {
  if (value === undefined) return otherwise
  const number = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN
  if (number >= least && number <= most) return number
  throw new HttpProblem(400, `${name} must be a whole number from ${least} to ${most}.`)
}
