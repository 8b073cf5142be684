import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const server = join(import.meta.dirname, '..', '..', '..', 'packages', 'server')
const fromSources = process.execArgv.includes('--conditions=sluice-source')
/** The command line of Sluice. */
export const cli: string = join(server, ...(fromSources ? ['src', 'cli.ts'] : ['dist', 'cli.js']))

const running = new Set<ChildProcess>()

/** Starts a command with the same Node options as this process. */
function start(file: string, args: readonly string[]): ChildProcess {
  const stdio = ['ignore', 'pipe', 'inherit'] as const
  const child = spawn(process.execPath, [...process.execArgv, file, ...args], { stdio: [...stdio] })
  running.add(child)
  child.once('close', () => running.delete(child))
  return child
}

/** Stops with this process, at once: no process may be left that still listens on a port. */
export function endOnSignals(): void {
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    process.once(signal, () => {
      for (const child of running) child.kill('SIGTERM')
      process.exit(0)
    })
  }
}

export interface RunningCollector {
  readonly endpoint: string
  /** Sets the simulated load of the collector. */
  load(percent: number): Promise<void>
  stop(): Promise<void>
}

/** The collector of this example. `hurry` divides all delays of its table. */
export async function runCollector(port: number, file: string, hurry: number): Promise<RunningCollector> {
  const args = ['--port', String(port), '--file', file, '--hurry', String(hurry)]
  const child = start(join(import.meta.dirname, 'collector.ts'), args)
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  const endpoint = line.toString().trim().split(' ').at(-1)!
  const { origin } = new URL(endpoint)
  return {
    endpoint,
    load: async (percent) => void (await fetch(`${origin}/load?percent=${percent}`, { method: 'POST' })),
    stop: () => ended(child, 'SIGKILL'),
  }
}

/** `sluice collect`, which needs no code at all. */
export async function runSluiceCollect(port: number, file: string): Promise<{ stop(): Promise<void> }> {
  const policy = join(import.meta.dirname, '..', 'sluice.yaml')
  const child = start(cli, ['collect', '--port', String(port), '--file', file, '--policy', policy])
  await once(child.stdout!, 'data')
  return { stop: () => ended(child, 'SIGTERM') }
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
  readonly acknowledged: ReadonlySet<string>
  kill(): Promise<void>
  stop(): Promise<void>
}

export function runAgent(dir: string, endpoint: string, more: readonly string[] = []): RunningAgent {
  const child = start(join(import.meta.dirname, 'agent.ts'), ['--dir', dir, '--endpoint', endpoint, ...more])
  const acknowledged = new Set<string>()
  let text = ''
  child.stdout?.setEncoding('utf8').on('data', (chunk: string) => {
    const lines = (text + chunk).split('\n')
    text = lines.pop() ?? ''
    for (const line of lines) acknowledged.add(line)
  })
  return { acknowledged, kill: () => ended(child, 'SIGKILL'), stop: () => ended(child, 'SIGTERM') }
}

async function ended(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill(signal)
  await once(child, 'close')
}
