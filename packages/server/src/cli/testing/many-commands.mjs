// Runs commands of the built command line in one process, one after the other, as the parent asks for them. Most of
// what a short command costs is loading the modules.
import { Readable } from 'node:stream'
import { main } from '../../../dist/cli/main.js'

const emptyEnv = { ...process.env }
const startedIn = process.cwd()

async function run({ args, cwd, env, input }) {
  const printed = { out: '', err: '' }
  const streams = [
    [process.stdout, 'out'],
    [process.stderr, 'err'],
  ]
  const writes = streams.map(([stream]) => stream.write)
  for (const [stream, name] of streams)
    stream.write = (text) => {
      printed[name] += text
      return true
    }
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin')
  Object.defineProperty(process, 'stdin', { configurable: true, value: Readable.from([input ?? '']) })
  process.chdir(cwd ?? startedIn)
  process.env = { ...emptyEnv, ...env }
  try {
    return { code: await main(args), ...printed }
  } finally {
    for (const [index, [stream]] of streams.entries()) stream.write = writes[index]
    Object.defineProperty(process, 'stdin', stdin)
  }
}

let last = Promise.resolve()
process.on('message', (command) => {
  last = last.then(async () => process.send({ id: command.id, ...(await run(command)) }))
})
process.on('disconnect', () => process.exit())
