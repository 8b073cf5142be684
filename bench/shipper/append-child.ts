// Stores events of about 200 bytes from a number of writers for a while, and prints how many and how long each took.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ContenderName, contenders } from './contenders.ts'

const [name, writersText, msText] = process.argv.slice(2)
const [writers, ms] = [Number(writersText), Number(msText)]
const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const contender = await contenders[name as ContenderName](join(dir, 'buffer'))
const text = 'x'.repeat(160)

async function round(forMs: number, took: number[]): Promise<number> {
  const end = performance.now() + forMs
  let events = 0
  const writer = async (id: number): Promise<void> => {
    for (let now = performance.now(); now < end; ) {
      await contender.append({ id, at: now, text })
      const later = performance.now()
      if (events++ % 16 === 0) took.push(later - now)
      now = later
    }
  }
  const started = performance.now()
  await Promise.all(Array.from({ length: writers }, (_, id) => writer(id)))
  return (events / (performance.now() - started)) * 1000
}

await round(ms / 2, [])
const took: number[] = []
const perSecond = await round(ms, took)
took.sort((a, b) => a - b)
await contender.close()
rmSync(dir, { recursive: true })
const p99Ms = took[Math.floor(took.length * 0.99)] ?? 0
process.stdout.write(`${JSON.stringify({ perSecond, p99Ms })}\n`, () => process.exit())
