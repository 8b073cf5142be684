import type { UpstreamStats } from './egress.ts'
import type { UpstreamRuntime } from './upstream-runtime.ts'

/** The state of an upstream, as seen by this process. */
export function statsOf({ upstream, booking, name, clock, reports }: UpstreamRuntime): UpstreamStats {
  const { counts } = reports
  const { last } = booking
  return {
    name,
    // Under an estimated bound there is no shared queue; then only the queue of this process is known.
    depth: upstream.bound === 'strict' ? (last?.depth ?? 0) : booking.waiting,
    waiting: booking.waiting,
    inFlight: booking.inFlight,
    limits: upstream.limits.map(({ name: limit, amount, periodMs }, index) => ({
      name: limit,
      used: last?.used[index] ?? 0,
      amount,
      periodMs,
    })),
    pausedMs: last?.pausedMs ?? 0,
    marginMs: booking.marginMs,
    recovering: last?.recovering ?? false,
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
