import { main } from './cli/main.ts'

// Whoever reads the output may stop reading, as `head` does; that is no fault.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  process.exit(error.code === 'EPIPE' ? 0 : 70)
})

process.exitCode = await main(process.argv.slice(2))
// Everything is closed by now. Should a connection linger nevertheless, nobody has to wait for it.
setTimeout(() => process.exit(), 1000).unref()
