import { fork } from 'node:child_process'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { startPostgres, startSentinel } from 'sluice/testing'

/**
 * The requirements of the original service: 200 ms p95 at a burst of 2,000 requests per second, 50 ms p95 for cold
 * reads, warm again in 2 minutes.
 */
const promised = { burstMs: 200, coldMs: 50, warmMs: 120_000 } as const
const perSecond = Number(process.env.RATE ?? 2000)
const assetIds = Array.from({ length: 500 }, (_, i) => `A${i}`)

interface Seen {
  readonly status: number
  readonly stale: boolean
  /**
   * From when the request was due, not from when it could be sent: a slow server cannot slow down its own measurement.
   */
  readonly ms: number
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 })

function get(port: number, path: string): Promise<Seen> {
  const dueMs = performance.now()
  return new Promise((resolve) => {
    const failed = (): void => resolve({ status: 0, stale: false, ms: performance.now() - dueMs })
    const call = request({ host: '127.0.0.1', port, path, agent, timeout: 10_000 }, (response) => {
      let text = ''
      response.on('data', (chunk) => {
        text += chunk
      })
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          stale: text.includes('"stale_flag":true'),
          ms: performance.now() - dueMs,
        }),
      )
      response.on('error', failed)
    })
    call.on('error', failed)
    call.on('timeout', () => call.destroy())
    call.end()
  })
}

/** Sends at a fixed rate for some time, whatever the answers. `meanwhile` runs a quarter of the way. */
async function burst(
  port: number,
  ms: number,
  path: (i: number) => string,
  meanwhile?: () => unknown,
): Promise<Seen[]> {
  const seen: Promise<Seen>[] = []
  const startMs = performance.now()
  let pending = meanwhile
  for (;;) {
    const elapsedMs = performance.now() - startMs
    if (elapsedMs >= ms) break
    while (seen.length < (elapsedMs / 1000) * perSecond) seen.push(get(port, path(seen.length)))
    if (pending && elapsedMs > ms / 4) {
      void pending()
      pending = undefined
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  return Promise.all(seen)
}

function print(what: string, seen: readonly Seen[], boundMs?: number): void {
  const sorted = seen.map(({ ms }) => ms).sort((a, b) => a - b)
  const at = (share: number): string => (sorted[Math.floor(share * (sorted.length - 1))] ?? 0).toFixed(1)
  const statuses = new Map<number, number>()
  for (const { status } of seen) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  const stale = seen.filter((each) => each.stale).length
  const bound = boundMs === undefined ? '' : ` (promised: ${boundMs} ms)`
  console.log(
    `${what}: ${seen.length} requests, p50 ${at(0.5)} ms, p95 ${at(0.95)} ms${bound}, p99 ${at(0.99)} ms; ` +
      `${[...statuses].map(([status, count]) => `${count} x ${status || 'failed'}`).join(', ')}; ${stale} stale`,
  )
}

const [sentinel, postgres] = await Promise.all([startSentinel(), startPostgres()])
const child = fork(new URL('./load-server.ts', import.meta.url), {
  execArgv: process.execArgv,
  env: { ...process.env, SENTINELS: sentinel.sentinels.map(({ port }) => port).join(','), DATABASE_URL: postgres.url },
})
try {
  const [{ port }] = (await once(child, 'message')) as [{ port: number }]
  const hot = (i: number): string => `/v1/price?asset=${assetIds[Math.floor(assetIds.length * ((i * 0.618) % 1) ** 3)]}`
  const cold: Seen[] = []
  for (let i = 0; i < 300; i++) cold.push(await get(port, `/v1/price?asset=${assetIds[i]}`))
  print('cold reads, one after another', cold, promised.coldMs)
  await burst(port, 2000, hot)
  print(`${perSecond}/s`, await burst(port, 5000, hot), promised.burstMs)
  child.send('wipe')
  const warmed = once(child, 'message')
  print(`${perSecond}/s while Redis is wiped`, await burst(port, 4000, hot), promised.burstMs)
  const [warm] = (await warmed) as [{ warmed: number; tookMs: number }]
  console.log(`warm again: ${warm.warmed} keys in ${warm.tookMs.toFixed(0)} ms (promised: ${promised.warmMs} ms)`)
  const failOver = async (): Promise<void> => (await sentinel.master()).kill()
  print(`${perSecond}/s while Sentinel fails over`, await burst(port, 8000, hot, failOver), promised.burstMs)
  print(`${perSecond}/s afterwards`, await burst(port, 3000, hot), promised.burstMs)
} finally {
  agent.destroy()
  child.kill('SIGTERM')
  await once(child, 'exit')
  await Promise.all([sentinel.stop(), postgres.stop()])
}
