import { actorOf } from '../access/actor.ts'
import { readBody } from '../input/read-body.ts'
import { readQuery } from '../input/read-query.ts'
import { HttpProblem } from '../problem.ts'
import type { Routes } from '../router.ts'
import { PartAction } from '../shapes/stats.ts'

/** How long Redis may take, for each of two steps. */
const withinMs = 1000

/** `POST /v1/parts/{replica}/actions`: has a part of a process do something, if the process allows it. */
export const partActionsRoute: Routes = ({ admin }, parts) => {
  const { limiter, reports, audit } = parts
  const whoIs = actorOf(parts)

  admin.post('/v1/parts/:replica/actions', async function order(c) {
    readQuery(c)
    const wanted = await readBody(c, PartAction)
    const { shared } = reports
    if (shared === undefined) throw new HttpProblem(409, 'Actions reach processes through Redis, and there is none.')
    const { service } = limiter.policy
    const replica = c.req.param('replica')
    // Not those that were posted to this daemon: their processes take no actions.
    const found = (await shared.read(service, withinMs)).find(({ report }) => report.replica === replica)?.report
    if (found === undefined) throw gone()
    const { kind, name, action, item } = wanted
    const part = found.sections.find((each) => each.kind === kind && each.name === name)
    if (part === undefined) throw new HttpProblem(404, `The process has no ${kind} ${JSON.stringify(name)}.`)
    if (part.actions?.includes(action) !== true)
      throw new HttpProblem(
        409,
        `The ${kind} ${JSON.stringify(name)} does not offer ${JSON.stringify(action)}; its process allows actions with reports: { actions: true } in openRedis, and each part needs a name of its own.`,
      )
    const answer = await shared.order(service, replica, wanted, withinMs)
    if (answer.state === 'absent') throw gone()
    if (answer.state === 'full') throw new HttpProblem(409, 'Too many actions wait for this process; ask again later.')
    const { id } = answer
    const target = [`${found.host}:${found.pid}`, kind, name, ...(item === undefined ? [] : [item])].join(' / ')
    audit.add({ who: whoIs(c), what: 'part.action', target, before: null, after: { action, id, replica } })
    return c.json({ id }, 202)
  })
}

function gone(): HttpProblem {
  return new HttpProblem(404, 'No process of this service reports to Redis as this replica.')
}
