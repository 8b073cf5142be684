import type { Decision, Limiter, PolicyArchive, RequestView } from 'sluice'
import type { ReportPart } from 'sluice/reports'
import { type DemoModel, openDemoModel } from './demo-parts.ts'
import { demoPolicy } from './demo-policy.ts'
import type { DemoStore } from './demo-store.ts'
import { demoAt } from './schedule.ts'

const everyMs = 100
const mostAtOnceMs = 2000
const texts = 1500
const rpm = { usual: 600, tight: 300 }

export interface DemoParts {
  readonly limiter: Limiter
  readonly archive: PolicyArchive
  readonly store: DemoStore
  /** Hears of each request, as if it had come over HTTP. */
  readonly keep?: (request: RequestView, decision: Decision) => void
  /** Takes what the demo has beside its limiter. */
  readonly report?: (part: ReportPart) => void
}

/** Makes traffic until the returned function is called. Nothing leaves the process. */
export function startDemo(parts: DemoParts, random: () => number = Math.random): () => Promise<void> {
  const { archive, store } = parts
  const startMs = performance.now()
  const left = new Map<string, number>()
  let isTight = false
  let own = demoPolicy(rpm.usual)
  let model: DemoModel | undefined
  const opening = openDemoModel().then((opened) => {
    model = opened
    for (const part of opened.parts) parts.report?.(part)
  })
  let lastMs = startMs
  const timer = setInterval(() => {
    const nowMs = performance.now()
    // A busy machine calls late: the rates stay what they are.
    const stepMs = Math.min(nowMs - lastMs, mostAtOnceMs)
    lastMs = nowMs
    const due = (name: string, perSecond: number): number => dueIn(stepMs, left, name, perSecond, random)
    const moment = demoAt(nowMs - startMs)
    model?.setAway(moment.isModelAway)
    store.setAway(moment.isStoreAway)
    if (moment.isTight !== isTight) {
      isTight = moment.isTight
      const next = demoPolicy(isTight ? rpm.tight : rpm.usual)
      void change(archive, own, next).catch(() => {})
      own = next
    }
    for (const [tenant, perSecond] of Object.entries(moment.rates)) {
      for (let i = due(tenant, perSecond); i > 0; i--) ask(parts, 'POST', '/v1/analyze', tenant, random)
    }
    for (let i = due('export', moment.exportsPerSecond); i > 0; i--) ask(parts, 'GET', '/v1/export', 'globex', random)
    // Squared, so that some texts are asked about often and many seldom.
    for (let i = due('text', moment.textsPerSecond); i > 0; i--) model?.ask(Math.floor(texts * random() ** 2))
  }, everyMs)
  timer.unref()
  return async () => {
    clearInterval(timer)
    await opening.catch(() => {})
    await model?.close()
  }
}

/** Changes only a policy of its own: what a user has published in the page stays. */
async function change(archive: PolicyArchive, own: string, next: string): Promise<void> {
  const [newest] = await archive.history(1)
  if (newest === undefined || newest.document === own) await archive.push(next)
}

/** How many requests are due in this step, so that rates below one per step come out right. */
function dueIn(
  stepMs: number,
  left: Map<string, number>,
  name: string,
  perSecond: number,
  random: () => number,
): number {
  const sum = (left.get(name) ?? 0) + (perSecond * stepMs * (0.5 + random())) / 1000
  left.set(name, sum % 1)
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
