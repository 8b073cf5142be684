import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const cli = join(import.meta.dirname, '..', '..', 'packages', 'server', 'dist', 'cli.js')

/** One worker: `sluice work` in a process of its own. */
export interface WorkerProcess {
  readonly child: ChildProcess
  readonly ended: Promise<number | null>
  out(): string
}

export function startWorker(args: readonly string[], env: Readonly<Record<string, string>>): WorkerProcess {
  const { PATH = '', HOME = '' } = process.env
  const words = [cli, 'work', '--json', '--port', '0', ...args]
  const child = spawn(process.execPath, words, { env: { PATH, HOME, ...env } })
  let text = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      text += chunk
    })
  }
  return { child, ended: once(child, 'close').then(([code]) => code as number | null), out: () => text }
}

/** Workers of which one after the other is killed, each time when there is some progress to lose. */
export async function killWorkers(
  start: () => WorkerProcess,
  options: { readonly count: number; readonly kills: number; readonly progress: () => Promise<number> },
): Promise<WorkerProcess[]> {
  const workers = Array.from({ length: options.count }, start)
  let before = await options.progress()
  for (let kill = 0; kill < options.kills; kill++) {
    const untilMs = performance.now() + 120_000
    for (let now = before; now <= before; now = await options.progress()) {
      if (performance.now() > untilMs)
        throw new Error(`no progress after ${before}: ${workers.map(({ out }) => out()).join('\n')}`)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
    before = await options.progress()
    const at = Math.floor(Math.random() * workers.length)
    workers[at]!.child.kill('SIGKILL')
    await workers[at]!.ended
    workers[at] = start()
  }
  return workers
}
