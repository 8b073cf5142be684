import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createBreaker } from 'sluice/breaker'
import { createCache, defineKeys, key } from 'sluice/cache'
import { createEgress } from 'sluice/egress'
import { partReport, type ReportPart } from 'sluice/reports'

/** What the service has beside its limiter: a cache, a breaker, and a vendor whose model it calls. */
export interface Model {
  readonly parts: readonly ReportPart[]
  setAway(isAway: boolean): void
  /** Asks for the sentiment of a text, by its number: from the cache, or else from the vendor. */
  ask(text: number): void
  close(): Promise<void>
}

const vendorMs = 60
const keys = defineKeys({ sentiment: key('sentiment', ['text'], { ttl: '30s' }) })

/** Everything is real but the vendor, which is a server in this process. */
export async function openModel(): Promise<Model> {
  let isAway = false
  const vendor = createServer((_, response) => {
    setTimeout(() => response.writeHead(isAway ? 500 : 200).end('{}'), vendorMs)
  }).listen(0, '127.0.0.1')
  await once(vendor, 'listening')
  const origin = `http://127.0.0.1:${(vendor.address() as AddressInfo).port}`
  const cache = await createCache({ memory: { maxEntries: 2000 } })
  const breaker = createBreaker({ name: 'model', failures: 5, cooldown: '5s' })
  const egress = await createEgress({
    policy: {
      service: 'sentiment-service',
      upstreams: [{ name: 'model-vendor', origin, limits: { rps: 12 }, concurrency: 4, maxWait: '10s' }],
    },
  })
  const call = async (): Promise<string> => {
    const response = await egress.fetch(`${origin}/v1/score`, { method: 'POST', body: '{}' })
    const body = await response.text()
    if (!response.ok) throw new Error(`the vendor answered ${response.status}`)
    return body
  }
  return {
    parts: [
      partReport('egress', egress),
      partReport('cache', cache, 'sentiments'),
      partReport('breaker', { stats: () => [breaker.stats()] }, 'model'),
    ],
    setAway(next) {
      isAway = next
    },
    ask(text) {
      // What fails is seen in the figures.
      void cache.getOrFetch(keys.sentiment(text), () => breaker.run(call)).catch(() => {})
    },
    async close() {
      await egress.close({ within: 200 })
      await cache.close()
      vendor.closeAllConnections()
      vendor.close()
    },
  }
}
