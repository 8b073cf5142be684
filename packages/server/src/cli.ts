import { main } from './cli/main.ts'

// The reader of the output may stop reading, as `head` does. That is no fault, but it is no success either: the outcome
// may not be known yet. The code is that of a program that SIGPIPE ends.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? (process.exitCode ?? 141) : 70)
})

process.exitCode = await main(process.argv.slice(2))
// Everything is closed by now. Exit even if a connection is left open.
setTimeout(() => process.exit(), 1000).unref()
