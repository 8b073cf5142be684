// The vendor of the demonstration, in a process of its own: callers in the same process would make it read late.
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { logTo, runMain } from 'example-service'
import { mostInAnySecond, startVendor } from './vendor.ts'

await runMain(async () => {
  const log = logTo('vendor')
  // As slow as a real one: the limit must be used up although calls take long.
  const { url, arrivals, close } = await startVendor(0, 800)
  log('started', { url })
  const delay = monitorEventLoopDelay({ resolution: 5 })
  delay.enable()
  process.once('SIGTERM', () => {
    const seconds = (arrivals.at(-1)!.atMs - arrivals[0]!.atMs) / 1000
    log('arrived', {
      calls: arrivals.length,
      seconds,
      most: mostInAnySecond(arrivals),
      lateMs: Math.round(delay.max / 1e6),
    })
    close()
  })
})
