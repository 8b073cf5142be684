import { main } from './cli/main.ts'

// The reader of the output may stop reading, as `head` does; that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 70)
})

process.exitCode = await main(process.argv.slice(2))
// Everything is closed by now. Exit even if a connection is left open.
setTimeout(() => process.exit(), 1000).unref()
