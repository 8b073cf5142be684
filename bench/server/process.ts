import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const cli = fileURLToPath(new URL('../../packages/server/dist/cli.js', import.meta.url))
const bare = fileURLToPath(new URL('./bare-child.ts', import.meta.url))

/** A server in a separate process, measured from outside. */
export class MeasuredServer {
  readonly origin: string
  /** Where checks are posted. */
  readonly url: string
  readonly #child: ChildProcess

  private constructor(url: string, child: ChildProcess) {
    this.origin = url
    this.url = `${url}/v1/check`
    this.#child = child
  }

  /** The built daemon, as `sluice serve` starts it, in memory. */
  static daemon(policy: string): Promise<MeasuredServer> {
    return MeasuredServer.#start([cli, 'serve', '--json', '--port', '0', '--log-level', 'warn', '--policy', policy])
  }

  /** A bare handler of the same framework. */
  static bare(): Promise<MeasuredServer> {
    return MeasuredServer.#start([...process.execArgv, bare])
  }

  /** A program that prints `{ "url": ... }` once it listens. */
  static script(file: URL, ...args: readonly string[]): Promise<MeasuredServer> {
    return MeasuredServer.#start([...process.execArgv, fileURLToPath(file), ...args])
  }

  static async #start(args: readonly string[]): Promise<MeasuredServer> {
    const { PATH = '' } = process.env
    const child = spawn(process.execPath, args, {
      env: { PATH, NODE_ENV: 'production' },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`${args.join(' ')} ended`)))
    const lines = createInterface({ input: child.stdout! })
    const [line] = (await Promise.race([once(lines, 'line'), ended])) as [string]
    ended.catch(() => {})
    return new MeasuredServer((JSON.parse(line) as { url: string }).url, child)
  }

  /** All CPU time used so far, in microseconds; NaN where the system does not report it. */
  cpuUs(): number {
    try {
      const fields = readFileSync(`/proc/${this.#child.pid}/stat`, 'utf8')
        .replace(/^.*\) /s, '')
        .split(' ')
      // Fields 14 and 15 of proc(5), in ticks of 10 ms.
      return (Number(fields[11]) + Number(fields[12])) * 10_000
    } catch {
      return Number.NaN
    }
  }

  async close(): Promise<void> {
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }
}
