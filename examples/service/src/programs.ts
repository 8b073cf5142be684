// Runs the built programs of examples as processes, for demonstrations and tests.
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createInterface } from 'node:readline'

export interface Program {
  readonly child: ChildProcess
  /** What it has printed so far. */
  readonly lines: readonly string[]
  /** The fields of all its events of this name so far. */
  events(name: string): Readonly<Record<string, unknown>>[]
  /** The first event of this name; rejects if the program ends without it. */
  event(name: string): Promise<Readonly<Record<string, string>>>
  /** Resolves with the first line. */
  printed(): Promise<string>
  /** The exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>
  stop(signal?: NodeJS.Signals): Promise<void>
}

const running = new Set<ChildProcess>()
// No process may be left that still listens on a port.
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Runs a script with no variables but these, on free ports of this machine unless they say otherwise. */
export function runProgram(args: readonly string[], env: Readonly<Record<string, string>> = {}, cwd?: string): Program {
  const given = { PATH: process.env.PATH ?? '', HOST: '127.0.0.1', PORT: '0', METRICS_PORT: '0', ...env }
  const child = spawn(process.execPath, args, { env: given, ...(cwd !== undefined && { cwd }) })
  running.add(child)
  const lines: string[] = []
  const changes = new EventEmitter().setMaxListeners(0)
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line)
      changes.emit('change')
    })
  let hasEnded = false
  const ended = new Promise<number | NodeJS.Signals | null>((resolve) =>
    child.once('close', (code, signal) => {
      hasEnded = true
      running.delete(child)
      changes.emit('change')
      resolve(code ?? signal)
    }),
  )
  /** Waits until something is there; rejects if the program ends without it. */
  const first = async <T>(find: () => T | undefined): Promise<T> => {
    for (;;) {
      const found = find()
      if (found !== undefined) return found
      if (hasEnded) throw new Error(`it ended: ${lines.join('\n')}`)
      await once(changes, 'change')
    }
  }
  const events = (name: string): Readonly<Record<string, unknown>>[] =>
    lines.filter((line) => line.startsWith('{') && line.includes(`"event":"${name}"`)).map((line) => JSON.parse(line))
  return {
    ...{ child, lines, ended, events },
    event: (name) => first(() => events(name)[0] as Record<string, string> | undefined),
    printed: () => first(() => lines[0]),
    async stop(signal = 'SIGTERM') {
      if (!hasEnded) child.kill(signal)
      await ended
    },
  }
}
