import { compilePolicyInSlices, parseInBackground } from 'sluice/policy'
import { editOverrides, writtenFor } from '../../../policy/overrides/edit-overrides.ts'
import { Override } from '../../../shapes/policy.ts'
import type { ApiParts } from '../../api-parts.ts'
import { keyInPath, type PathKey } from '../../input/key-path.ts'
import { readBody } from '../../input/read-body.ts'
import { HttpProblem } from '../../problem.ts'
import type { GuardedRoutes } from '../../router.ts'
import type { PolicyPusher } from './push-policy.ts'

const prefix = '/v1/policy/overrides/'

/**
 * `PUT` and `DELETE /v1/policy/overrides/service/rule/part...`: other limits for one key until a given time. The policy
 * is pushed with it, so that every replica takes it up, and only on top of the version that `If-Match` names.
 */
export function overrideRoutes(admin: GuardedRoutes, parts: ApiParts, pusher: PolicyPusher): void {
  admin.put(`${prefix}*`, async function override(c) {
    const asked = keyInPath(c, prefix, parts.limiter)
    const body = await readBody(c, Override)
    const until = endOf(body.until, Date.now())
    const make = async (): Promise<unknown> => {
      const next = edited(parts, asked, { key: asked.key, limits: body.limits, until })
      await checkReaches(next, asked, parts)
      return next
    }
    const pushed = await pusher.push(c, make, { what: 'override.set', target: asked.readable, needsMatch: true })
    return c.json({ ...pushed, until })
  })

  admin.delete(`${prefix}*`, async function removeOverride(c) {
    const asked = keyInPath(c, prefix, parts.limiter)
    const make = (): unknown => {
      if (writtenFor(parts.policy.document?.parsed, asked.rule, asked.key).override === null)
        throw new HttpProblem(404, `The policy has no override for ${JSON.stringify(asked.readable)}.`)
      return edited(parts, asked, undefined)
    }
    return c.json(await pusher.push(c, make, { what: 'override.remove', target: asked.readable, needsMatch: true }))
  })
}

function edited(
  { policy }: ApiParts,
  { rule, key, readable }: PathKey,
  override: Parameters<typeof editOverrides>[3],
): unknown {
  const next = editOverrides(policy.document?.given, rule, key, override)
  if (next === undefined)
    throw new HttpProblem(
      409,
      `The document does not list the rule of ${JSON.stringify(readable)} in a way that can be edited here.`,
    )
  return next
}

/** An override that no request can meet would look like a success and change nothing. */
async function checkReaches(document: unknown, { rule, subject, readable }: PathKey, { env }: ApiParts): Promise<void> {
  let found: unknown
  try {
    const parsed = typeof document === 'string' ? await parseInBackground(document) : document
    found = (await compilePolicyInSlices(parsed, { env })).rule(rule)?.overrideFor(subject, Date.now())
  } catch {
    // The push says what is wrong with it, and where.
    return
  }
  if (found !== 'in-force')
    throw new HttpProblem(
      409,
      `No override can name ${JSON.stringify(readable)}: its parts are not the ones the rule reads.`,
    )
}

function endOf(value: string, nowMs: number): string {
  const ms = /\d{4}-\d\d-\d\dT.*(?:Z|[+-]\d\d:?\d\d)$/.test(value) ? Date.parse(value) : Number.NaN
  if (Number.isNaN(ms)) throw new HttpProblem(400, 'until must be a time with a zone, such as "2026-01-31T12:00:00Z".')
  if (ms <= nowMs) throw new HttpProblem(400, 'until is in the past.')
  return new Date(ms).toISOString()
}
