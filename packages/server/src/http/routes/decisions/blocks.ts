import { checkKey } from '../../../policy/overrides/check-key.ts'
import { actorOf } from '../../access/actor.ts'
import { keyInPath } from '../../input/key-path.ts'
import { readBody } from '../../input/read-body.ts'
import { readQuery } from '../../input/read-query.ts'
import type { Routes } from '../../router.ts'
import { Block } from '../../shapes/decisions.ts'

const prefix = '/v1/blocks/'

/** `PUT` and `DELETE /v1/blocks/service/rule/part...`: lets nothing of a key pass for a while, and ends that. */
export const blockRoutes: Routes = ({ admin }, parts) => {
  const { limiter, audit, policy } = parts
  const whoIs = actorOf(parts)

  admin.put(`${prefix}*`, async function block(c) {
    readQuery(c)
    const { for: length } = await readBody(c, Block)
    const { rule, key, readable } = keyInPath(c, prefix, limiter)
    checkKey(policy.current, key, rule)
    await limiter.block(key, { rule, for: length })
    audit.add({ who: whoIs(c), what: 'key.block', target: readable, before: null, after: { for: length } })
    return c.json({ blocked: true, key: readable })
  })

  admin.delete(`${prefix}*`, async function unblock(c) {
    readQuery(c)
    const { rule, key, readable } = keyInPath(c, prefix, limiter)
    checkKey(policy.current, key, rule)
    const unblocked = await limiter.unblock(key, { rule })
    if (unblocked)
      audit.add({ who: whoIs(c), what: 'key.unblock', target: readable, before: { blocked: true }, after: null })
    return c.json({ unblocked, key: readable })
  })
}
