// Prints how long it takes to read the files of a buffer, and how long to open a shipper on it.
import { closeSync, openSync, readdirSync, readSync } from 'node:fs'
import { join } from 'node:path'
import { createShipper } from 'sluice/shipper'

const [dir = ''] = process.argv.slice(2)

function readAll(): number {
  const started = performance.now()
  const buffer = Buffer.alloc(1 << 20)
  for (const name of readdirSync(dir).filter((file) => file.endsWith('.seg'))) {
    const file = openSync(join(dir, name), 'r')
    while (readSync(file, buffer, 0, buffer.length, null) > 0);
    closeSync(file)
  }
  return performance.now() - started
}

const readMs = Math.min(readAll(), readAll())
const started = performance.now()
const shipper = await createShipper({ dir, flushInterval: false, send: async () => undefined })
const startMs = performance.now() - started
const { pending } = shipper.stats()
await shipper.close()
process.stdout.write(`${JSON.stringify({ readMs, startMs, pending })}\n`, () => process.exit())
