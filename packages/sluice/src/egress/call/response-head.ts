import type { Classification } from '../options.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'
import { presetOf } from '../vendor/presets.ts'
import { type VendorSignal, vendorSignal } from '../vendor/vendor-signal.ts'
import type { Headers } from '../vendor/wait-forms.ts'

export interface ResponseHead {
  readonly status: number
  readonly headers: Headers
}

/** Whether the body of a response decides what it means. */
export function needsBody({ hooks, upstream }: UpstreamRuntime, { status, headers }: ResponseHead): boolean {
  if (hooks.classify) return /json|text\/(?!event-stream)|xml/.test(headers['content-type'] ?? '')
  return status === 429 && presetOf(upstream.vendor).readsBody === true
}

/** Whether a response of this status may be answered by making the call again. */
export function mayBeRepeated(status: number): boolean {
  return status >= 500 || status === 408 || status === 429
}

/** What a response says about the vendor's limits. */
export function signalOf(runtime: UpstreamRuntime, head: ResponseHead, body: string | undefined): VendorSignal {
  const { status, headers } = head
  const told: Classification | undefined = runtime.hooks.classify?.({ status, headers, body })
  const nowMs = Math.floor(runtime.clock.now() / 1000)
  return vendorSignal(presetOf(runtime.upstream.vendor), status, headers, nowMs, told, body)
}

/** Pauses the upstream, or a scope of it, for the whole fleet, because a response asked for it. */
export function pauseUpstream(
  runtime: UpstreamRuntime,
  scope: string,
  { waitMs }: VendorSignal,
  status: number,
  writtenMs: number,
): void {
  const sentAgoMs = Math.ceil(runtime.clock.monotonic() - writtenMs)
  const [ms, maxMs] = [waitMs === undefined ? -1 : Math.ceil(waitMs), runtime.upstream.maxPauseMs]
  const asked = runtime.booking.ask({ op: 'pause', scope, ms, sentAgoMs, chance: runtime.random(), maxMs })
  void asked.then((result) => {
    if (result?.is === 'paused') runtime.events.emit('paused', { upstream: runtime.name, scope, ms: result.ms, status })
  })
}
