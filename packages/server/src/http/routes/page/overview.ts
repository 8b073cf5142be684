import { fleetRules, refusedKeys, replicasOf } from '../../../recent/overview.ts'
import { sharedFor } from '../../../recent/shared-for.ts'
import type { Overview } from '../../../shapes/page.ts'
import type { Routes } from '../../router.ts'
import { policyStatus, storeStatus } from '../reports.ts'

const topRefused = 8
const keysPerRule = 20
const sharedMs = 1000

/** `GET /v1/overview`: the present state of the service: denied keys, the store, the policy, and all processes. */
export const overviewRoute: Routes = ({ read }, parts) => {
  const { limiter, live, counter, reports, startedAt, deadlineMs } = parts
  const refusedNow = sharedFor(sharedMs, () =>
    refusedKeys(fleetRules(live, counter, keysPerRule), limiter, live.denials, topRefused),
  )
  read.get('/v1/overview', async function overview(c) {
    const outage = live.outages.current
    const own = counter.stats()
    const [store, refused] = await Promise.all([storeStatus(limiter), refusedNow()])
    return c.json({
      service: limiter.policy.service,
      uptimeSeconds: Math.floor((Date.now() - startedAt.getTime()) / 1000),
      deadlineMs,
      policy: { ...policyStatus(parts), writable: parts.isWritable() },
      store: { ...store, ...live.store.look() },
      latency: live.latency(),
      outage:
        outage === undefined
          ? null
          : { since: outage.sinceMs, failure: outage.failure, message: outage.message, decisions: outage.decisions },
      refused,
      replicas: replicasOf(live, reports.replica, own),
      complete: live.fleet.complete,
      historyUrl: parts.historyUrl ?? null,
    } satisfies Overview)
  })
}
