import { monitorEventLoopDelay } from 'node:perf_hooks'

const resolutionMs = 10

/**
 * How late the event loop ran, in milliseconds, since the last call: nearly the worst, so that one slow handler counts.
 */
export function eventLoopDelay(): { read(): number; stop(): void } {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  histogram.enable()
  return {
    read() {
      // The histogram records the time between its own timers, so an idle loop shows the resolution.
      const lateMs = histogram.count === 0 ? 0 : histogram.percentile(99) / 1e6 - resolutionMs
      histogram.reset()
      return Math.max(0, lateMs)
    },
    stop: () => histogram.disable(),
  }
}
