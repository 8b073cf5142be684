import type { Limiter } from 'sluice'
import { maxReportBytes, type ReportDestination, readReport } from 'sluice/reports'
import { fleetStats } from '../../recent/fleet/fleet.ts'
import { servicesOf, sharedLook } from '../../recent/fleet/fleet-reader.ts'
import type { Denials } from '../../shapes/page.ts'
import type { PolicyStatus } from '../../shapes/policy.ts'
import { PartAction, type Services, type Stats, type StoreStatus } from '../../shapes/stats.ts'
import { actorOf } from '../access/actor.ts'
import type { ApiParts } from '../api-parts.ts'
import { readBody, readText } from '../input/read-body.ts'
import { readNumber } from '../input/read-query.ts'
import { HttpProblem } from '../problem.ts'
import type { Routes } from '../router.ts'

/** `POST /v1/reports`: how the parts of a process stand, for fleets without Redis. Forgotten after ten seconds. */
export const reportsRoute: Routes = ({ report }, { reports }) => {
  report.post('/v1/reports', async function receive(c) {
    const text = await readText(c, maxReportBytes)
    const report = readReport(text)
    if (report === undefined)
      throw new HttpProblem(400, 'The body is not a report of a version that this daemon knows.')
    await kept(reports.board, report.service, report.replica, text)
    return c.json({ received: true })
  })

  report.delete('/v1/reports/:service/:replica', async function remove(c) {
    await reports.board.remove(c.req.param('service'), c.req.param('replica'), 0)
    return c.json({ removed: true })
  })
}

async function kept(board: ReportDestination, service: string, replica: string, text: string): Promise<void> {
  try {
    await board.send(service, replica, text, 0)
  } catch (error) {
    throw new HttpProblem(503, `The report was not kept: ${(error as Error).message}.`)
  }
}

const maxTop = 200
/** Over how long hot keys are counted, in milliseconds. */
const hotKeysOverMs = 120_000

/**
 * `GET /v1/stats`: what all processes of the service decided, as they report, and the hottest keys of each rule;
 * `/v1/services`: which services it can be asked for.
 */
export const statsRoute: Routes = ({ read }, parts) => {
  const { limiter, reports, startedAt } = parts
  const lookAt = sharedLook(reports.readers)
  read.get('/v1/stats', async function report(c) {
    const top = readNumber(c, 'top', 10, 0, maxTop)
    const service = c.req.query('service') || limiter.policy.service
    // So that a decision that this daemon has just made is included.
    await reports.sendOwn()
    const look = await lookAt(service)
    return c.json({
      service,
      uptimeSeconds: Math.floor((Date.now() - startedAt.getTime()) / 1000),
      policy: policyStatus(parts),
      store: await storeStatus(limiter),
      hotKeysOverMs,
      complete: look.complete,
      ...fleetStats(look.reports, top, Date.now()),
    } satisfies Stats)
  })

  read.get('/v1/services', async function services(c) {
    const { service } = limiter.policy
    return c.json({ service, ...(await servicesOf(reports.readers, service)) } satisfies Services)
  })
}

/** The policy in force, without anything that could be secret. */
export function policyStatus({ limiter, policySource }: ApiParts): PolicyStatus {
  const { version, ageMs, lastError } = limiter.policy.status
  return { version, ageMs: Math.round(ageMs), source: policySource(), lastError: lastError?.message ?? null }
}

export async function storeStatus(limiter: Limiter): Promise<StoreStatus> {
  const { ready: ok, store, warnings } = await limiter.health()
  const { name, reachable, roundTripMs, breaker } = store
  return { name, ok, reachable, roundTripMs, breaker, warnings }
}

/** How long Redis may take, for each of two steps. */
const withinMs = 1000

/** `POST /v1/parts/{replica}/actions`: has a part of a process do something, if the process allows it. */
export const partActionsRoute: Routes = ({ admin }, parts) => {
  const { limiter, reports, audit } = parts
  const whoIs = actorOf(parts)

  admin.post('/v1/parts/:replica/actions', async function order(c) {
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

/** `GET /v1/denials`: the last denials of all processes that report, and with `after` what came since. */
export const denialsRoute: Routes = ({ read }, { live }) => {
  read.get('/v1/denials', function denials(c) {
    const { after = '', rule } = c.req.query()
    const limit = readNumber(c, 'limit', 100, 1, 1000)
    live.wanted()
    const [epoch, number] = after.split('-')
    const isKnown = epoch === live.log.epoch
    const seen = isKnown ? Number(number) || 0 : 0
    const since = live.denials.since(seen)
    const chosen = since.filter((denial) => rule === undefined || denial.rule === rule)
    const denials = chosen.slice(0, limit)
    const lost = live.denials.added - seen - since.length + chosen.length - denials.length
    const next = `${live.log.epoch}-${live.denials.added}`
    return c.json({ denials, next, missed: isKnown ? Math.max(0, lost) : 0 } satisfies Denials)
  })
}
