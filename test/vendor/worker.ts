// One of several processes whose workers call one vendor as fast as allowed. Its settings come as JSON in its first
// argument; it receives commands by message, and reports what it did.
import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'
import { exchange as exchangeScript } from '../../packages/sluice/src/egress/booking/scripts.gen.ts'
import { createEgress } from '../../packages/sluice/src/egress/create-egress.ts'
import { filePolicy } from '../../packages/sluice/src/policy/sources/file/file.ts'
import { openRedis } from '../../packages/sluice/src/stores/redis/open-redis.ts'
import type { WorkerReport, WorkerSettings } from './settings.ts'

const settings = JSON.parse(process.argv[2]!) as WorkerSettings

// The clock of the server is its own, plus what the test has put into this key (seconds).
const source = exchangeScript.source.replace(
  /local clock = .*\n/,
  "local clock = time[1] * 1000000 + time[2] + (tonumber(redis.call('GET', 'leap') or 0)) * 1000000\n",
)
if (source === exchangeScript.source) throw new Error('the script reads its time in another way now')
Object.assign(exchangeScript, { source, sha1: createHash('sha1').update(source).digest('hex') })

const client = settings.sentinels
  ? new Redis({ sentinels: [...settings.sentinels], name: settings.masterName!, lazyConnect: true })
  : new Redis({ port: settings.redisPort!, lazyConnect: true })
client.on('error', () => undefined)
const redis = openRedis(client)
const egress = await createEgress({ policy: filePolicy(settings.policyFile), redis })
const report: WorkerReport = {
  version: egress.policy.version,
  ...{ responses: 0, refused: 0, aborted: 0, failed: [], storeFailures: 0 },
}
egress.on('storeFailed', () => {
  report.storeFailures += 1
})
egress.on('policyLoaded', ({ version }) => {
  report.version = version
})

let stopping = false
let abortShare = 0

async function work(): Promise<void> {
  while (!stopping) {
    const isAborted = Math.random() < abortShare
    // Some abort while they wait, some while the vendor answers.
    const signal = isAborted ? AbortSignal.timeout(Math.ceil(Math.random() * 3000)) : undefined
    try {
      const response = await egress.fetch(settings.url, { method: 'POST', body: '{}', ...(signal ? { signal } : {}) })
      await response.text()
      report.responses += 1
    } catch (error) {
      const { code, name, message } = error as { code?: string; name?: string; message?: string }
      if (code === 'SLUICE_REFUSED') report.refused += 1
      else if (signal?.aborted) report.aborted += 1
      else if (!stopping && report.failed.length < 20) report.failed.push(`${code ?? name}: ${message}`)
      // A vendor that refuses at once must not make a busy loop.
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
}

process.on('message', async (order: { readonly do: string; readonly share?: number }) => {
  if (order.do === 'report') process.send?.({ ...report, stats: egress.stats()[0] })
  if (order.do === 'abort') abortShare = order.share ?? 0
  if (order.do === 'stall') {
    // Every 2 s the event loop is blocked for 50 to 300 ms.
    setInterval(() => {
      const untilMs = performance.now() + 50 + Math.random() * 250
      while (performance.now() < untilMs);
    }, 2000).unref()
  }
  if (order.do === 'stop') {
    stopping = true
    await egress.close()
    await redis.close()
    client.disconnect()
    process.disconnect()
  }
})

for (let i = 0; i < settings.workers; i++) void work()
process.send?.({ ...report })
