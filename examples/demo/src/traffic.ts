import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { RedisServer } from 'sluice/testing'
import type { Model } from './model.ts'
import { policyOf, rpm } from './policy.ts'
import { demoAt } from './schedule.ts'

const everyMs = 100
const mostAtOnceMs = 2000
const texts = 1500
/** On a machine that cannot keep up, further requests are left out. */
const mostInFlight = 50

export interface TrafficOptions {
  /** The daemon that is asked about each request. */
  readonly url: string
  readonly redis: RedisServer
  readonly model: Model
  readonly policyFile: string
}

/** Makes traffic by the schedule until the returned function is called. */
export function startTraffic({ url, redis, model, policyFile }: TrafficOptions): () => void {
  const startMs = performance.now()
  const left = new Map<string, number>()
  let [isAway, isTight] = [false, false]
  let lastMs = startMs
  let inFlight = 0
  const ask = (method: string, path: string, tenant: string): void => {
    if (inFlight >= mostInFlight) return
    inFlight++
    void check(url, method, path, tenant).finally(() => inFlight--)
  }
  const timer = setInterval(() => {
    const nowMs = performance.now()
    // A busy machine calls late: the rates stay what they are.
    const stepMs = Math.min(nowMs - lastMs, mostAtOnceMs)
    lastMs = nowMs
    const due = (name: string, perSecond: number): number => dueIn(stepMs, left, name, perSecond)
    const moment = demoAt(nowMs - startMs)
    model.setAway(moment.isModelAway)
    if (moment.isStoreAway !== isAway) {
      isAway = moment.isStoreAway
      if (isAway) void redis.freeze()
      else redis.thaw()
    }
    if (moment.isTight !== isTight) {
      isTight = moment.isTight
      change(policyFile, isTight)
    }
    for (const [tenant, perSecond] of Object.entries(moment.rates))
      for (let i = due(tenant, perSecond); i > 0; i--) ask('POST', '/v1/analyze', tenant)
    for (let i = due('export', moment.exportsPerSecond); i > 0; i--) ask('GET', '/v1/export', 'globex')
    // Squared, so that some texts are asked about often and many seldom.
    for (let i = due('text', moment.textsPerSecond); i > 0; i--) model.ask(Math.floor(texts * Math.random() ** 2))
  }, everyMs)
  return () => {
    clearInterval(timer)
    redis.thaw()
  }
}

/** Changes only a policy of its own: what was published in the page stays. */
function change(file: string, isTight: boolean): void {
  const [from, to] = [policyOf(isTight ? rpm.usual : rpm.tight), policyOf(isTight ? rpm.tight : rpm.usual)]
  if (readFileSync(file, 'utf8') !== from) return
  writeFileSync(`${file}.next`, to)
  renameSync(`${file}.next`, file)
}

/** How many requests are due in this step, so that rates below one per step come out right. */
function dueIn(stepMs: number, left: Map<string, number>, name: string, perSecond: number): number {
  const sum = (left.get(name) ?? 0) + (perSecond * stepMs * (0.5 + Math.random())) / 1000
  left.set(name, sum % 1)
  return Math.floor(sum)
}

async function check(url: string, method: string, path: string, tenant: string): Promise<void> {
  const ip = `192.0.2.${(tenant.length * 7 + Math.floor(Math.random() * 3)) % 250}`
  const request = { method, path, headers: { 'x-tenant': tenant }, ip }
  // Denials and outages are seen on the page.
  await fetch(`${url}/v1/check`, { method: 'POST', body: JSON.stringify({ request }) })
    .then((response) => response.arrayBuffer())
    .catch(() => {})
}
