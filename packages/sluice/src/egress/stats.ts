import type { UpstreamStats } from './egress.ts'
import type { UpstreamRuntime } from './upstream-runtime.ts'

/** The state of an upstream, as seen by this process. */
export function statsOf(runtime: UpstreamRuntime): UpstreamStats {
  const { upstream, booking, name, clock, reports } = runtime
  const { counts } = reports
  const { last } = booking
  return {
    name,
    depth: last?.depth ?? 0,
    waiting: booking.waiting,
    inFlight: booking.inFlight,
    limits: upstream.limits.map(({ name: limit, amount, periodMs }, index) => ({
      name: limit,
      used: last?.used[index] ?? 0,
      amount,
      periodMs,
    })),
    pausedMs: last?.pausedMs ?? 0,
    arrivalMs: runtime.arrivalMs(0),
    recoveringMs: last?.recoveringMs ?? 0,
    pacedMs: last?.pacedMs ?? 0,
    widenedMs: last?.widenedMs ?? 0,
    degraded: booking.outage !== undefined,
    granted: counts.granted,
    refused: counts.refused,
    responses: counts.responses,
    failures: counts.failures,
    retries: counts.retries,
    waitMs: counts.waits(),
    ratePerSecond: counts.rate(clock.monotonic()),
  }
}
