import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'

export interface Seen {
  readonly status: number
  readonly stale: boolean
  /** From when the request was due, not from when it could be sent: a slow server cannot slow down its measurement. */
  readonly ms: number
}

/** Each may ask 600 times a minute, so that 2,000 requests per second come from at least 200. */
export const apiKeys: readonly string[] = Array.from({ length: 400 }, (_, i) => `load-${i}`)
const agent = new Agent({ keepAlive: true, maxSockets: 256 })
let asked = 0

export function get(url: string): Promise<Seen> {
  const dueMs = performance.now()
  return new Promise((resolve) => {
    const failed = (): void => resolve({ status: 0, stale: false, ms: performance.now() - dueMs })
    const headers = { 'x-api-key': apiKeys[asked++ % apiKeys.length] }
    const call = request(url, { agent, headers, timeout: 10_000 }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => {
        const stale = text.includes('"stale_flag":true')
        resolve({ status: response.statusCode ?? 0, stale, ms: performance.now() - dueMs })
      })
      response.on('error', failed)
    })
    call.on('error', failed)
    call.on('timeout', () => call.destroy())
    call.end()
  })
}

/** Sends at a fixed rate for some time, whatever the answers. `meanwhile` runs a quarter of the way. */
export async function burst(
  ms: number,
  perSecond: number,
  url: (i: number) => string,
  meanwhile?: () => unknown,
): Promise<Seen[]> {
  const seen: Promise<Seen>[] = []
  const startMs = performance.now()
  let pending = meanwhile
  for (;;) {
    const elapsedMs = performance.now() - startMs
    if (elapsedMs >= ms) break
    while (seen.length < (elapsedMs / 1000) * perSecond) seen.push(get(url(seen.length)))
    if (pending && elapsedMs > ms / 4) {
      void pending()
      pending = undefined
    }
    await new Promise((resolve) => setTimeout(resolve, 2))
  }
  return Promise.all(seen)
}

export function p95(seen: readonly Seen[]): number {
  const sorted = seen.map(({ ms }) => ms).sort((a, b) => a - b)
  return sorted[Math.floor(0.95 * (sorted.length - 1))] ?? 0
}

export const median = (values: readonly number[]): number =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** What a process has used so far. The kernel counts in hundredths of a second. */
export function cpuMs(pid: number): number {
  const [, after = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')
  const fields = after.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

/** Prints how long requests took, beside what is promised. */
export function print(what: string, seen: readonly Seen[], promisedMs: number): void {
  const statuses = new Map<number, number>()
  for (const { status } of seen) statuses.set(status, (statuses.get(status) ?? 0) + 1)
  const counts = [...statuses].map(([status, count]) => `${count} x ${status || 'failed'}`).join(', ')
  const stale = seen.filter((each) => each.stale).length
  console.log(`${what}: p95 ${p95(seen).toFixed(1)} ms (promised: ${promisedMs}); ${counts}; ${stale} stale`)
}
