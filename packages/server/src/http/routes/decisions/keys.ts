import type { Inspection } from 'sluice'
import { checkKey } from '../../../policy/overrides/check-key.ts'
import { writtenFor } from '../../../policy/overrides/edit-overrides.ts'
import { Block } from '../../../shapes/decisions.ts'
import { actorOf } from '../../access/actor.ts'
import { keyInPath } from '../../input/key-path.ts'
import { readBody } from '../../input/read-body.ts'
import type { Routes } from '../../router.ts'

const prefix = '/v1/keys/'
const blocks = '/v1/blocks/'
const withoutStore = 'The store does not answer; this is only what one process knows without it, such as its own share.'

/** `GET` and `DELETE /v1/keys/service/rule/part...`: where a key stands and why, and forgetting what it has used. */
export const keyRoutes: Routes = ({ admin, read }, parts) => {
  const { limiter, audit, policy } = parts
  const whoIs = actorOf(parts)

  read.get(`${prefix}*`, async function inspect(c) {
    const tier = c.req.query('tier')
    const { rule, key } = keyInPath(c, prefix, limiter)
    checkKey(policy.current, key, rule)
    const inspection = await limiter.inspect(key, { rule, ...(tier === undefined ? {} : { tier }) })
    const { limits: written, override } = writtenFor(policy.document?.parsed, rule, key)
    return c.json({
      ...inspection,
      fixed: inspection.fixed ?? null,
      explanation: explanationOf(inspection),
      written,
      override,
    })
  })

  admin.delete(`${prefix}*`, async function reset(c) {
    const { rule, key, readable } = keyInPath(c, prefix, limiter)
    checkKey(policy.current, key, rule)
    const before = await limiter.inspect(key, { rule })
    await limiter.reset(key, { rule })
    audit.add({ who: whoIs(c), what: 'key.reset', target: readable, before: usedOf(before), after: null })
    return c.json({ reset: true, key: readable, stored: before.tierUnknown || !isUnused(before) })
  })
}

/** What was used of each limit, and how much was held. */
function usedOf({ limits, holds }: Inspection): object {
  return {
    used: Object.fromEntries(limits.map(({ name, amount, remaining }) => [name, Math.max(0, amount - remaining)])),
    holds: holds.length,
  }
}

/** In words, what stands in the way of the next unit. */
function explanationOf(inspection: Inspection): string {
  const { limits, degraded } = inspection
  const unsure = degraded && limits.length > 0 ? `${withoutStore} ` : ''
  return unsure + standing(inspection)
}

function standing({ limits, holds, fixed, tierUnknown }: Inspection): string {
  if (tierUnknown) return 'The tier of this key is not known here, and so its limits are not; give one as tier.'
  if (fixed) return fixed === 'deny' ? 'The policy denies this key.' : 'The policy does not limit this key.'
  if (limits.length === 0) return 'The store could not be asked.'
  const full = limits.filter(({ retryAfterMs }) => retryAfterMs > 0)
  if (full.length > 0) {
    return full
      .map(({ name, amount, retryAfterMs, windowMs, block }) =>
        windowMs === 0 && Number.isFinite(retryAfterMs)
          ? `${name} has its ${amount} in flight; the next one passes when one of them ends.`
          : block
            ? `It is blocked for another ${retryAfterMs} ms.`
            : `${name} has spent its ${amount}; the next unit passes ${retryAfterMs === Number.POSITIVE_INFINITY ? 'never' : `in ${retryAfterMs} ms`}.`,
      )
      .join(' ')
  }
  const tightest = limits.reduce((least, limit) => (limit.remaining < least.remaining ? limit : least))
  const held = holds.length === 0 ? '' : ` ${holds.length} holds are open.`
  return `The next unit passes; ${tightest.name} has ${tightest.remaining} of ${tightest.amount} left.${held}`
}

/** `PUT` and `DELETE /v1/blocks/service/rule/part...`: lets nothing of a key pass for a while, and ends that. */
export const blockRoutes: Routes = ({ admin }, parts) => {
  const { limiter, audit, policy } = parts
  const whoIs = actorOf(parts)

  admin.put(`${blocks}*`, async function block(c) {
    const { for: length } = await readBody(c, Block)
    const { rule, key, readable } = keyInPath(c, blocks, limiter)
    checkKey(policy.current, key, rule)
    await limiter.block(key, { rule, for: length })
    audit.add({ who: whoIs(c), what: 'key.block', target: readable, before: null, after: { for: length } })
    return c.json({ blocked: true, key: readable })
  })

  admin.delete(`${blocks}*`, async function unblock(c) {
    const { rule, key, readable } = keyInPath(c, blocks, limiter)
    checkKey(policy.current, key, rule)
    const unblocked = await limiter.unblock(key, { rule })
    if (unblocked)
      audit.add({ who: whoIs(c), what: 'key.unblock', target: readable, before: { blocked: true }, after: null })
    return c.json({ unblocked, key: readable })
  })
}

/** Whether nothing is stored for a key, or nothing that still matters. False when the store could not be asked. */
export function isUnused(inspection: {
  readonly limits: readonly { readonly resetMs: number }[]
  readonly holds: readonly unknown[]
}): boolean {
  const { limits, holds } = inspection
  return limits.length > 0 && holds.length === 0 && limits.every(({ resetMs }) => resetMs === 0)
}
