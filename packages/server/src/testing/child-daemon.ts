import { type ChildProcess, spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const cli = fileURLToPath(new URL('../../dist/cli.js', import.meta.url))

/** The built daemon as a process of its own. */
export interface ChildDaemon {
  readonly url: string
  readonly grpcUrl: string | undefined
  readonly process: ChildProcess
  /** Every line it has logged. */
  readonly lines: readonly Record<string, unknown>[]
  /** The code or the signal it ended with. */
  readonly ended: Promise<number | NodeJS.Signals>
}

/** Starts the built daemon with these arguments and waits until it listens. */
export async function startChild(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<ChildDaemon> {
  const child = spawn(process.execPath, [cli, 'serve', '--port', '0', ...args], {
    env: { PATH: process.env.PATH, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise<number | NodeJS.Signals>((resolve) =>
    child.once('exit', (code, signal) => resolve(code ?? signal!)),
  )
  const lines: Record<string, unknown>[] = []
  let errors = ''
  child.stderr.on('data', (chunk) => {
    errors += chunk
  })
  const listening = await new Promise<Record<string, unknown>>((resolve, reject) => {
    let rest = ''
    child.stdout.on('data', (chunk) => {
      const parts = (rest + chunk).split('\n')
      rest = parts.pop()!
      for (const line of parts.filter((text) => text.startsWith('{'))) {
        const entry = JSON.parse(line) as Record<string, unknown>
        lines.push(entry)
        if (entry.msg === 'listening') resolve(entry)
      }
    })
    void ended.then((code) => reject(new Error(`the daemon ended with ${code}: ${errors}`)))
  })
  return { url: String(listening.url), grpcUrl: listening.grpc as string | undefined, process: child, lines, ended }
}
