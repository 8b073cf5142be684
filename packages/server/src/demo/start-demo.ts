import type { Decision, Limiter, PolicyArchive, RequestView } from 'sluice'
import { demoPolicy } from './demo-policy.ts'
import type { DemoStore } from './demo-store.ts'
import { demoAt } from './schedule.ts'

const everyMs = 100
const rpm = { usual: 600, tight: 300 }

export interface DemoParts {
  readonly limiter: Limiter
  readonly archive: PolicyArchive
  readonly store: DemoStore
  /** Hears of each request, as if it had come over HTTP. */
  readonly keep?: (request: RequestView, decision: Decision) => void
}

/** Makes traffic until the returned function is called. Nothing leaves the process. */
export function startDemo(parts: DemoParts, random: () => number = Math.random): () => void {
  const { archive, store } = parts
  const startMs = performance.now()
  const due = new Map<string, number>()
  let isTight = false
  let own = demoPolicy(rpm.usual)
  const timer = setInterval(() => {
    const moment = demoAt(performance.now() - startMs)
    store.setAway(moment.isStoreAway)
    if (moment.isTight !== isTight) {
      isTight = moment.isTight
      const next = demoPolicy(isTight ? rpm.tight : rpm.usual)
      void change(archive, own, next).catch(() => {})
      own = next
    }
    for (const [tenant, perSecond] of Object.entries(moment.rates)) {
      for (let left = taken(due, tenant, perSecond, random); left > 0; left--)
        ask(parts, 'POST', '/v1/analyze', tenant, random)
    }
    for (let left = taken(due, 'export', moment.exportsPerSecond, random); left > 0; left--)
      ask(parts, 'GET', '/v1/export', 'globex', random)
  }, everyMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Changes only a policy of its own: what somebody has published in the page stays. */
async function change(archive: PolicyArchive, own: string, next: string): Promise<void> {
  const [newest] = await archive.history(1)
  if (newest === undefined || newest.document === own) await archive.push(next)
}

/** How many requests are due in this step, so that rates below one per step come out right. */
function taken(due: Map<string, number>, name: string, perSecond: number, random: () => number): number {
  const sum = (due.get(name) ?? 0) + (perSecond * everyMs * (0.5 + random())) / 1000
  due.set(name, sum % 1)
  return Math.floor(sum)
}

function ask({ limiter, keep }: DemoParts, method: string, path: string, tenant: string, random: () => number): void {
  const ip = `192.0.2.${(tenant.length * 7 + Math.floor(random() * 3)) % 250}`
  const request = { method, path, headers: { 'x-tenant': tenant }, ip }
  void limiter.check(request).then(
    (decision) => keep?.(request, decision),
    () => {},
  )
}
