import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { waitFor } from 'sluice/testing'

const root = join(import.meta.dirname, '..', '..', '..', '..', '..')
/** The built command line. */
export const cli: string = join(root, 'packages', 'server', 'dist', 'cli.js')

/** What a command printed and ended with. */
export interface Ran {
  readonly code: number | null
  readonly out: string
  readonly err: string
  /** Standard output as one JSON value. */
  json<T = Record<string, unknown>>(): T
}

export interface RunOptions {
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  readonly input?: string
}

let isBuilt = false

/** Builds what is not built yet, so that the tests see the sources as they are. Once for all files of a process. */
export function buildCli(): void {
  if (isBuilt) return
  execFileSync(process.execPath, [join(root, 'scripts', 'build.mjs')], { stdio: 'pipe' })
  isBuilt = true
}

/** Starts the built command line in a process of its own, in an environment that says nothing. */
export function startCli(args: readonly string[], options: RunOptions = {}): ChildProcess {
  const { PATH = '', HOME = '' } = process.env
  return spawn(process.execPath, [cli, ...args], { cwd: options.cwd, env: { PATH, HOME, ...options.env } })
}

/** Runs a command to its end. */
export async function runCli(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const child = startCli(args, options)
  const [out, err] = [textOf(child.stdout), textOf(child.stderr)]
  child.stdin?.end(options.input ?? '')
  const [code] = (await once(child, 'close')) as [number | null]
  return { code, out: out(), err: err(), json: <T>() => JSON.parse(out()) as T }
}

interface Printed {
  readonly id: number
  readonly code: number
  readonly out: string
  readonly err: string
}

const waiting = new Map<number, { readonly done: (printed: Printed) => void; readonly fail: (error: Error) => void }>()
let commands: ChildProcess | undefined
let count = 0

/** The process of `runInOne`, which ends with this one. */
function startCommands(): ChildProcess {
  const { PATH = '', HOME = '' } = process.env
  const started = fork(join(import.meta.dirname, 'many-commands.ts'), {
    env: { PATH, HOME },
    execArgv: ['--import', 'tsx'],
  })
  started.on('message', (printed: Printed) => {
    waiting.get(printed.id)?.done(printed)
    waiting.delete(printed.id)
  })
  started.on('exit', (code) => {
    commands = undefined
    for (const { fail } of waiting.values()) fail(new Error(`the process of the commands ended with ${code}`))
    waiting.clear()
  })
  started.unref()
  started.channel?.unref()
  return started
}

/**
 * Runs a command as `runCli` does, but all in one process, one after the other: several times faster. It does not show
 * whether a command ends its process, and is for no daemon and no command that runs beside another.
 */
export async function runInOne(args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  commands ??= startCommands()
  const id = ++count
  const { code, out, err } = await new Promise<Printed>((done, fail) => {
    waiting.set(id, { done, fail })
    commands!.send({ id, args, ...options })
  })
  return { code, out, err, json: <T>() => JSON.parse(out) as T }
}

/** A daemon of the built command line, on a free port if none is named. */
export interface CliDaemon {
  readonly child: ChildProcess
  readonly url: string
  out(): string
  err(): string
  /** The code it ended with, once it has. */
  readonly ended: Promise<number | null>
}

export async function startDaemon(args: readonly string[] = [], options: RunOptions = {}): Promise<CliDaemon> {
  const child = startCli(['serve', ...(args.includes('--port') ? [] : ['--port', '0']), ...args], options)
  const [out, err] = [textOf(child.stdout), textOf(child.stderr)]
  const ended = once(child, 'close').then(([code]) => code as number | null)
  const [, url = ''] = await Promise.race([
    waitFor(() => /API (http:\S+)\/v1\/check/.exec(err()), { describe: 'the daemon to say where it is' }),
    ended.then((code): never => {
      throw new Error(`the daemon ended with ${code}: ${err()}`)
    }),
  ])
  return { child, url, out, err, ended }
}

function textOf(stream: NodeJS.ReadableStream | null): () => string {
  let text = ''
  stream?.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
  })
  return () => text
}
