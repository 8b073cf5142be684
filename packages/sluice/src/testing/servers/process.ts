import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { waitFor } from '../wait-for.ts'
import type { Account } from './account.ts'
import { type Guardian, guard } from './guardian.ts'

const run = promisify(execFile)

export interface ProcessOptions {
  /** What the process is, for its folder's name and for errors. */
  readonly name: string
  readonly command: string
  readonly args: readonly string[] | ((folder: string) => readonly string[])
  readonly env?: Readonly<Record<string, string>>
  /** Whose process it is; the account of the tests unless said otherwise. */
  readonly account?: Account | undefined
  /** Fills the folder before the first start. */
  readonly prepare?: (folder: string) => void | Promise<void>
  /** Polled: truthy once the process can be used. Throwing is "not yet". */
  readonly ready: (pid: number) => unknown
  readonly readyTimeoutMs?: number
  /** Asks the process to end; SIGKILL follows when it has not after `graceMs`. */
  readonly stopSignal?: NodeJS.Signals
  readonly graceMs?: number
  /** Freezes the processes it started as well, for servers that are made of several. */
  readonly wholeTree?: boolean
}

/** A server process with a temporary folder of its own. */
export class ServerProcess {
  readonly folder: string
  readonly #options: ProcessOptions
  readonly #guardian: Guardian
  #child: ChildProcess | undefined
  #exited: Promise<void> = Promise.resolve()
  #frozen: number[] = []

  /** Use `startProcess`. */
  constructor(options: ProcessOptions) {
    this.#options = options
    this.folder = mkdtempSync(join(tmpdir(), `sluice-${options.name}-`))
    if (options.account) chownSync(this.folder, options.account.uid, options.account.gid)
    this.#guardian = guard(this.folder)
    living.add(this)
    endAllAtExit()
  }

  /** The process id; of the last process when none runs. */
  get pid(): number {
    return this.#child?.pid ?? 0
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null
  }

  get frozen(): boolean {
    return this.#frozen.length > 0
  }

  /** Starts the process in its folder, and waits until it is ready. */
  async start(args: readonly string[] = []): Promise<void> {
    const { name, command, account, ready, readyTimeoutMs = 20_000 } = this.#options
    if (this.running) throw new Error(`${name} already runs as process ${this.pid}`)
    const given = typeof this.#options.args === 'function' ? this.#options.args(this.folder) : this.#options.args
    // Output goes to a file: a pipe would hold the process up, or be lost with it.
    const output = openSync(this.#log, 'w')
    const child = spawn(command, [...given, ...args], {
      cwd: this.folder,
      env: { ...process.env, ...this.#options.env },
      stdio: ['ignore', output, output],
      // A process group of its own, so that what it starts can be ended with it.
      detached: true,
      ...account,
    })
    closeSync(output)
    this.#child = child
    this.#frozen = []
    let failure: Error | undefined
    this.#exited = new Promise((resolve) => {
      child.once('exit', () => {
        this.#guardian.watch(0)
        resolve()
      })
      child.once('error', (error) => {
        failure = error
        resolve()
      })
    })
    if (child.pid !== undefined) this.#guardian.watch(child.pid)
    // A server that a test forgot must not keep the test process alive.
    child.unref()
    let ended = false
    void this.#exited.then(() => {
      ended = true
    })
    try {
      const isReady = async () => ended || (await ready(this.pid))
      await waitFor(isReady, { timeoutMs: readyTimeoutMs, describe: `${name} to be ready` })
      if (ended) throw new Error(failure ? failure.message : `${name} ended with ${child.exitCode ?? child.signalCode}`)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      const lines = this.lastLines()
      await this.kill()
      throw new Error(`${name} did not start: ${reason}${lines && `\n${lines}`}`, { cause: error })
    }
  }

  /** Ends the process and starts it again in the same folder. */
  async restart(args: readonly string[] = []): Promise<void> {
    await this.kill()
    await this.start(args)
  }

  /** Sends a signal, SIGKILL unless said otherwise, and waits until the process has ended. */
  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    if (!this.running || this.pid === 0) return
    const child = this.#child!
    child.ref()
    // A frozen process takes no other signal than SIGKILL.
    if (signal !== 'SIGKILL') this.thaw()
    this.#frozen = this.#frozen.filter((pid) => pid !== this.pid)
    signalTo(signal === 'SIGKILL' ? -this.pid : this.pid, signal)
    for (const pid of this.#frozen) signalTo(pid, signal)
    this.#frozen = []
    await this.#exited
  }

  /** Stops the process from running (SIGSTOP), and returns once it stands still. Its sockets stay open. */
  async freeze(): Promise<void> {
    const pids = this.#options.wholeTree ? await descendants(this.pid) : []
    this.#frozen = [this.pid, ...pids]
    for (const pid of this.#frozen) signalTo(pid, 'SIGSTOP')
    await waitFor(() => areStopped(this.#frozen), { describe: `${this.#options.name} to stand still` })
  }

  /** Lets a frozen process run on (SIGCONT). */
  thaw(): void {
    for (const pid of this.#frozen) signalTo(pid, 'SIGCONT')
    this.#frozen = []
  }

  /** Ends the process, kindly first, and removes its folder. */
  async stop(): Promise<void> {
    const { stopSignal = 'SIGTERM', graceMs = 3000 } = this.#options
    const last = setTimeout(() => void this.kill(), graceMs)
    try {
      await this.kill(stopSignal)
    } finally {
      clearTimeout(last)
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 })
    this.#guardian.dismiss()
    living.delete(this)
  }

  /** The end of what the process has written, for errors. */
  lastLines(count: number = 20): string {
    try {
      return readFileSync(this.#log, 'utf8').trimEnd().split('\n').slice(-count).join('\n')
    } catch {
      return ''
    }
  }

  /** Ends the process now, without waiting; for the end of the test process. */
  abandon(): void {
    if (this.running && this.pid !== 0) signalTo(-this.pid, 'SIGKILL')
    try {
      rmSync(this.folder, { recursive: true, force: true })
    } catch {
      // Still being written to. Its guardian removes it a moment later.
    }
  }

  get #log(): string {
    return join(this.folder, 'output.log')
  }
}

/** Starts a process in a temporary folder of its own; it ends with the test process at the latest. */
export async function startProcess(options: ProcessOptions): Promise<ServerProcess> {
  const server = new ServerProcess(options)
  try {
    await options.prepare?.(server.folder)
    await server.start()
    return server
  } catch (error) {
    await server.stop()
    throw error
  }
}

const living = new Set<ServerProcess>()
let registered = false

function endAllAtExit(): void {
  if (registered) return
  registered = true
  process.once('exit', () => {
    for (const server of living) server.abandon()
  })
}

function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    // Gone already is as good.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** A process that has ended stands still too: it stays a zombie while its frozen parent cannot reap it. */
async function areStopped(pids: readonly number[]): Promise<boolean> {
  const { stdout } = await run('ps', ['-o', 'stat=', '-p', pids.join(',')])
  return stdout
    .trim()
    .split('\n')
    .every((state) => /^[TZ]/.test(state))
}

async function descendants(root: number): Promise<number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid='])
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
  const found = [root]
  for (const parent of found) for (const [pid, ppid] of rows) if (ppid === parent) found.push(pid!)
  return found.slice(1)
}
