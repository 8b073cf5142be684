// Starts the programs of this example, for the demonstration and the test.
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { runProgram } from 'example-service/programs'

const home = join(import.meta.dirname, '..')
const server = dirname(createRequire(import.meta.url).resolve('@sluice/server/package.json'))
/** The command line of Sluice. */
export const cli: string = join(server, 'bin', 'sluice.js')
export const path = '/api/v1/ai/pooler'

/** The policy of this example, changed. */
function policyWith(change: (text: string) => string): string {
  const file = join(mkdtempSync(join(tmpdir(), 'event-pooler-policy-')), 'sluice.yaml')
  writeFileSync(file, change(readFileSync(join(home, 'sluice.yaml'), 'utf8')))
  return file
}

/** All delays divided, so that the whole story runs quickly. */
const inHurry = (hurry: number) => (text: string) =>
  text.replace(/(delay|retryAfter): (\d+)(m?s)/g, (_, name, amount, unit) => {
    return `${name}: ${(Number(amount) * (unit === 's' ? 1000 : 1)) / hurry}ms`
  })

/** 100 events every 50 ms of all agents together, at whatever load of the machine. */
const atAnyLoad = (text: string): string =>
  text
    .replace('below: 40, maxBatchSize: 100, delay: 100ms', 'below: 95, maxBatchSize: 100, delay: 50ms')
    .replace(/ +- \{ below: (60|80|95), maxBatchSize: (50|20|10),.*\n/g, '')

export interface RunningCollector {
  readonly endpoint: string
  /** Sets the simulated load of the collector. */
  load(percent: number): Promise<void>
  stop(): Promise<void>
}

/** The collector of this example, at a pretended load. `hurry` divides all delays of its table. */
export async function runCollector(port: number, file: string, hurry: number): Promise<RunningCollector> {
  const collector = runProgram([join(home, 'dist', 'collector.js')], {
    ...{ PORT: String(port), EVENTS_FILE: file, LOAD_PERCENT: '10', POLICY_FILE: policyWith(inHurry(hurry)) },
  })
  await collector.event('started')
  const origin = `http://127.0.0.1:${port}`
  return {
    endpoint: origin + path,
    load: async (percent) => void (await fetch(`${origin}/load?percent=${percent}`, { method: 'POST' })),
    stop: () => collector.stop('SIGKILL'),
  }
}

/** `sluice collect`, which needs no code at all. */
export async function runSluiceCollect(port: number, file: string): Promise<{ stop(): Promise<void> }> {
  const policy = policyWith(atAnyLoad)
  const args = [cli, 'collect', '--path', path, '--port', String(port), '--file', file, '--policy', policy]
  const collect = runProgram(args, { HOME: process.env.HOME ?? '' })
  await collect.printed()
  return { stop: () => collect.stop() }
}

/** The ids in the file of a collector, in the order of arrival. */
export async function collectedIds(file: string): Promise<string[]> {
  const text = await readFile(file, 'utf8').catch(() => '')
  // The last line may be incomplete while it is being written.
  const lines = text.slice(0, text.lastIndexOf('\n') + 1).split('\n')
  return lines.filter(Boolean).map((line) => (JSON.parse(line) as { id: string }).id)
}

export interface RunningAgent {
  /** What it has stored so far. */
  acknowledged(): string[]
  /** How many lines of its log have this event. */
  logged(event: string): number
  kill(): Promise<void>
  stop(): Promise<void>
}

export function runAgent(dir: string, endpoint: string, env: Readonly<Record<string, string>> = {}): RunningAgent {
  const given = { SLUICE_SHIPPER_DIR: dir, POOLER_ENDPOINT: endpoint, EVENT_EVERY_MS: '20', ...env }
  const agent = runProgram([join(home, 'dist', 'main.js')], given)
  return {
    acknowledged: () => agent.events('stored').map(({ id }) => String(id)),
    logged: (event) => agent.events(event).length,
    kill: () => agent.stop('SIGKILL'),
    stop: () => agent.stop(),
  }
}
