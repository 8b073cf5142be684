// The vendor of a fleet, and a relay in front of it if asked for. Its settings come as JSON in its first argument. On a
// message it reports the arrivals so far.
import { startVendor, type Vendor } from '../../packages/sluice/src/egress/testing/vendor.ts'
import { startRelay } from './relay.ts'
import { machineMs, type VendorReport, type VendorSettings } from './settings.ts'

const { answerMs, relayMs, reports } = JSON.parse(process.argv[2]!) as VendorSettings

const vendor: Vendor = await startVendor((request, response) => {
  request.resume()
  if (reports) {
    const nowMs = performance.now()
    const inPeriod = vendor.arrivals.filter((at) => at > nowMs - reports.periodMs)
    const leftMs = inPeriod[0]! + reports.periodMs - nowMs
    response.setHeader('x-ratelimit-remaining', Math.max(0, reports.amount - inPeriod.length))
    response.setHeader('x-ratelimit-reset', Math.max(1, Math.ceil(leftMs / 1000)))
  }
  if (answerMs === 0) response.end('{}')
  else setTimeout(() => response.end('{}'), answerMs)
})
const relay = relayMs === undefined ? undefined : await startRelay(Number(new URL(vendor.origin).port), relayMs)

// How late this process is: it sees arrivals no earlier than its timers.
const everyMs = 5
let lateMs = 0
let lastMs = performance.now()
setInterval(() => {
  const nowMs = performance.now()
  lateMs = Math.max(lateMs, nowMs - lastMs - everyMs)
  lastMs = nowMs
}, everyMs)

const sinceMs = machineMs() - performance.now()
process.on('message', () => {
  const report: VendorReport = { arrivals: vendor.arrivals.map((at) => at + sinceMs), lateMs }
  process.send!(report)
})
process.on('disconnect', () => process.exit())
process.send!({ origin: relay?.origin ?? vendor.origin })
