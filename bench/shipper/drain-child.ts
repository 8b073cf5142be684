// Drains a buffer to an address, and prints how fast, and the most memory that was in use meanwhile. Needs --expose-gc.
import { createShipper } from 'sluice/shipper'

const [dir = '', endpoint = ''] = process.argv.slice(2)
const inUse = (): number => {
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

const shipper = await createShipper({ dir, flushInterval: false, endpoint })
globalThis.gc?.()
const openBytes = inUse()
let mostBytes = 0
shipper.on('sent', () => {
  mostBytes = Math.max(mostBytes, inUse())
})
const { pending } = shipper.stats()
const started = performance.now()
const { sent, outcome } = await shipper.flush()
const perSecond = (sent / (performance.now() - started)) * 1000
await shipper.close()
const { rss } = process.memoryUsage()
const result = { pending, sent, outcome, perSecond, openBytes, mostBytes, rss }
process.stdout.write(`${JSON.stringify(result)}\n`, () => process.exit())
