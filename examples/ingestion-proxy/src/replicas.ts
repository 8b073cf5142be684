import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export interface Replica {
  readonly url: string
  stop(): Promise<void>
}

/** Starts one replica of the proxy as a separate process. */
export async function startReplica(env: NodeJS.ProcessEnv): Promise<Replica> {
  const file = new URL('./proxy.ts', import.meta.url).pathname
  const child: ChildProcess = spawn(process.execPath, ['--conditions=sluice-source', '--import', 'tsx', file], {
    env: { ...process.env, LOG_LEVEL: 'silent', PORT: '0', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const [line] = (await Promise.race([
    once(createInterface({ input: child.stdout! }), 'line'),
    exited.then(() => ['{}']),
  ])) as [string]
  const { listening } = JSON.parse(line) as { listening?: string }
  if (listening === undefined) throw new Error('the proxy ended before it listened')
  return {
    url: listening,
    async stop() {
      child.kill('SIGTERM')
      await exited
    },
  }
}
