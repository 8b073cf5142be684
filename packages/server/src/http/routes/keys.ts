import type { Context } from 'hono'
import { type Inspection, type KeyPart, type Limiter } from 'sluice'
import { parseReadableKey } from 'sluice/policy'
import type { Routes } from '../app.ts'
import { HttpProblem } from '../problem.ts'
import { readQuery } from '../read-query.ts'

const prefix = '/v1/keys/'

/** `GET` and `DELETE /v1/keys/service/rule/part...`: where a key stands and why, and forgetting what it has used. */
export const keyRoutes: Routes = (app, { limiter }) => {
  app.get(`${prefix}*`, async function inspect(c) {
    readQuery(c)
    const { rule, key } = keyOf(c, limiter)
    const inspection = await limiter.inspect(key, { rule })
    return c.json({ ...inspection, explanation: explanationOf(inspection) })
  })

  app.delete(`${prefix}*`, async function reset(c) {
    readQuery(c)
    const { rule, key } = keyOf(c, limiter)
    await limiter.reset(key, { rule })
    return c.json({ reset: true, key: decodedPath(c) })
  })
}

function keyOf(c: Context, limiter: Limiter): { rule: string; key: KeyPart[] } {
  const { service, rule, key } = parseReadableKey(decodedPath(c))
  if (service !== limiter.policy.service) {
    throw new HttpProblem(
      404,
      `This daemon enforces the policy of ${JSON.stringify(limiter.policy.service)}, not of ${JSON.stringify(service)}.`,
    )
  }
  return { rule, key }
}

/** Parts may hold escapes of their own (`%002f`), so the path is decoded exactly once, by segment. */
function decodedPath(c: Context): string {
  const { pathname } = new URL(c.req.url)
  try {
    return pathname.slice(prefix.length).split('/').map(decodeURIComponent).join('/')
  } catch {
    throw new HttpProblem(400, 'The path is not validly percent-encoded.')
  }
}

/** In words, what stands in the way of the next unit. */
function explanationOf({ limits, holds }: Inspection): string {
  if (limits.length === 0) return 'The store could not be asked.'
  const full = limits.filter(({ retryAfterMs }) => retryAfterMs > 0)
  if (full.length > 0) {
    return full
      .map(
        ({ name, amount, retryAfterMs }) =>
          `${name} has spent its ${amount}; the next unit passes ${retryAfterMs === Number.POSITIVE_INFINITY ? 'never' : `in ${retryAfterMs} ms`}.`,
      )
      .join(' ')
  }
  const tightest = limits.reduce((least, limit) => (limit.remaining < least.remaining ? limit : least))
  const held = holds.length === 0 ? '' : ` ${holds.length} holds are open.`
  return `The next unit passes; ${tightest.name} has ${tightest.remaining} of ${tightest.amount} left.${held}`
}
