// Runs commands of the built command line in one process, one after the other, as the parent asks for them. Most of
// what a short command costs is loading the modules.
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { pathToFileURL } from 'node:url'
import type { main as Main } from '../main.ts'
import { cli, type RunOptions } from './run-cli.ts'

interface Command extends RunOptions {
  readonly id: number
  readonly args: readonly string[]
}

const { main } = (await import(pathToFileURL(join(cli, '..', 'cli', 'main.js')).href)) as { main: typeof Main }
const [emptyEnv, startedIn] = [{ ...process.env }, process.cwd()]

async function run({ args, cwd, env, input }: Command) {
  const printed = { out: '', err: '' }
  const streams = [
    [process.stdout, 'out'],
    [process.stderr, 'err'],
  ] as const
  const writes = streams.map(([stream]) => stream.write)
  for (const [stream, name] of streams)
    stream.write = (text: string | Uint8Array) => {
      printed[name] += text
      return true
    }
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')!
  Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from([input ?? '']) })
  process.chdir(cwd ?? startedIn)
  process.env = { ...emptyEnv, ...env }
  try {
    return { code: await main(args), ...printed }
  } finally {
    for (const [index, [stream]] of streams.entries()) stream.write = writes[index]!
    Object.defineProperty(process, 'stdin', stdin)
  }
}

let last = Promise.resolve<unknown>(undefined)
process.on('message', (command: Command) => {
  last = last.then(async () => process.send!({ id: command.id, ...(await run(command)) }))
})
process.on('disconnect', () => process.exit())
