import { monitorEventLoopDelay } from 'node:perf_hooks'
import { systemClock } from '../../runtime/system-clock.ts'

const resolutionMs = 10

/**
 * How late the event loop ran, in milliseconds, since the last call: nearly the worst, so that one slow handler counts.
 */
export function eventLoopDelay(): { read(): number; stop(): void } {
  const histogram = monitorEventLoopDelay({ resolution: resolutionMs })
  // The machine's own time, as the histogram has.
  const clock = systemClock()
  histogram.enable()
  let readMs = clock.monotonic()
  return {
    read() {
      const nowMs = clock.monotonic()
      // The histogram records the time between its own timers, so an idle loop shows the resolution.
      const [recordedMs, worstMs] =
        histogram.count === 0 ? [0, 0] : [(histogram.mean * histogram.count) / 1e6, histogram.percentile(99) / 1e6]
      // After a reset the first timer only begins to measure. Turns as long as a sample are never recorded at all.
      const unrecordedMs = nowMs - readMs - recordedMs - resolutionMs
      readMs = nowMs
      histogram.reset()
      return Math.max(0, worstMs - resolutionMs, unrecordedMs - resolutionMs)
    },
    stop: () => histogram.disable(),
  }
}
