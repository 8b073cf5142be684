import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

/** Starts a command of this folder with the same Node options as this process. */
function start(file: string, args: readonly string[]): ChildProcess {
  return spawn(process.execPath, [...process.execArgv, join(import.meta.dirname, file), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
}

export interface RunningCollector {
  readonly endpoint: string
  /** Pretends that the collector is so busy. */
  load(percent: number): Promise<void>
  ids(): Promise<{ readonly ids: readonly string[]; readonly duplicates: number }>
  stop(): Promise<void>
}

/** `hurry` divides all delays of the table, so that nobody has to wait for an hour to see it all. */
export async function runCollector(port: number, hurry: number): Promise<RunningCollector> {
  const child = start('collector.ts', ['--port', String(port), '--hurry', String(hurry)])
  const [line] = (await once(child.stdout!, 'data')) as [Buffer]
  const endpoint = line.toString().trim().split(' ').at(-1)!
  const { origin } = new URL(endpoint)
  return {
    endpoint,
    load: async (percent) => void (await fetch(`${origin}/load?percent=${percent}`, { method: 'POST' })),
    ids: async () => (await fetch(`${origin}/ids`)).json() as ReturnType<RunningCollector['ids']>,
    stop: () => ended(child, 'SIGKILL'),
  }
}

export interface RunningAgent {
  /** What it has stored so far. */
  readonly acknowledged: ReadonlySet<string>
  kill(): Promise<void>
  stop(): Promise<void>
}

export function runAgent(dir: string, endpoint: string, more: readonly string[] = []): RunningAgent {
  const child = start('agent.ts', ['--dir', dir, '--endpoint', endpoint, ...more])
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
