// Fills a buffer with so many events of about 200 bytes, and prints how many bytes it has.
import { createAppender, inspectBuffer } from 'sluice/shipper'

const [dir = '', countText] = process.argv.slice(2)
const appender = await createAppender({ dir, durability: 'os' })
const text = 'x'.repeat(160)
let pending: Promise<string>[] = []
for (let n = 0; n < Number(countText); n++) {
  pending.push(appender.append({ n, at: 1234.5678, text }))
  if (pending.length === 20_000) {
    await Promise.all(pending)
    pending = []
  }
}
await Promise.all(pending)
await appender.close()
const { bytes, pending: events } = await inspectBuffer(dir)
process.stdout.write(`${JSON.stringify({ bytes, events })}\n`, () => process.exit())
