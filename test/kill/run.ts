import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createShipper } from '../../packages/sluice/src/shipper/index.ts'
import { startCollector } from '../../packages/sluice/src/testing/shipper/collector.ts'
import { bundled } from '../bundled.ts'

const child = join(import.meta.dirname, 'child.mjs')

export interface KillResult {
  readonly kills: number
  readonly acknowledged: number
  readonly collected: number
  /** Acknowledged and never delivered. Must be empty. */
  readonly missing: readonly string[]
  /** Deliveries beyond the first of an event. */
  readonly duplicates: number
  /** The most that one crash may repeat. */
  readonly batch: number
  readonly lost: number
}

/** Kills writers and flushers of one buffer at random moments, and then looks for every event that was acknowledged. */
export async function runKills(
  kills: number,
  from: 'source' | 'build',
  onKill: (done: number) => void = () => {},
): Promise<KillResult> {
  const program = from === 'source' ? await bundled(child) : child
  const dir = mkdtempSync(join(tmpdir(), 'sluice-kill-'))
  const batch = 50
  const collector = await startCollector({ keepData: false })
  collector.capacity = { ready: true, maxBatchSize: batch, delayBetweenBatches: 0, maxInFlight: 4 }
  const acknowledged = new Set<string>()
  let done = 0
  const lane = async (roles: readonly string[]): Promise<void> => {
    for (let turn = 0; done < kills; turn++) {
      const process = start(program, roles[turn % roles.length]!, dir, collector.url)
      await killed(process, acknowledged)
      onKill(++done)
    }
  }
  await Promise.all([lane(['write', 'write', 'flush']), lane(['flush', 'write'])])
  const rest = await createShipper({ dir, endpoint: collector.url, flushInterval: false, backoff: { base: 0 } })
  let report = await rest.flush()
  for (let again = 0; again < 100 && report.outcome !== 'drained'; again++) report = await rest.flush()
  const { lost } = rest.stats()
  await rest.close()
  const missing = [...acknowledged].filter((id) => !collector.events.has(id))
  await collector.close()
  rmSync(dir, { recursive: true })
  const counts = { acknowledged: acknowledged.size, collected: collector.events.size, duplicates: collector.duplicates }
  return { kills: done, ...counts, missing, batch, lost }
}

function start(program: string, role: string, dir: string, endpoint: string): ChildProcess {
  return spawn(process.execPath, [program, role, dir, endpoint], { stdio: ['ignore', 'pipe', 'inherit'] })
}

/**
 * Reads what was acknowledged, and kills the process at a random moment after it has started: so many events or so much
 * time later.
 */
async function killed(process: ChildProcess, acknowledged: Set<string>): Promise<void> {
  const killAfterEvents = Math.floor(Math.random() ** 2 * 400)
  const kill = (): void => void setTimeout(() => process.kill('SIGKILL'), Math.random() * 5)
  let text = ''
  let events = 0
  process.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    const lines = text.split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) {
      if (line === 'ready') setTimeout(kill, Math.random() * 100 + killAfterEvents)
      else acknowledged.add(line)
      if (events++ === killAfterEvents) kill()
    }
  })
  await once(process, 'close')
}
