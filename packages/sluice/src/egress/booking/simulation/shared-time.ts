import { guardUs } from '../constants.ts'
import type { UpstreamState } from '../engine/state.ts'
import type { Exchange } from '../messages.ts'

/** Nobody has verified time for so long: all processes were gone, if they did not leave. */
const unverifiedUs = 1_500_000

/**
 * Advances shared time. It may lose time, which costs only rate, but never gain: units are free again only when the
 * clock of the server and that of the asking process both say so. Returns whether it was
 * set back, so that what was entered before counts too long.
 */
export function advance({ time, marker, owners }: UpstreamState, asked: Exchange, rawUs: number): boolean {
  const isKnown = asked.marker === marker && asked.expectUs >= 0
  const jump = isKnown && asked.jump?.offsetUs === time.offsetUs ? asked.jump : undefined
  let { epoch, lostUs } = asked
  if (jump) {
    // The process that noticed it has measured time correctly; the others must learn it anew, or subtract it.
    time.offsetUs -= jump.us
    if (jump.isGain) time.epoch += 1
    else time.lostUs += jump.us
    if (jump.isGain) epoch += 1
    else lostUs += jump.us
    time.timeUs = Math.max(rawUs + time.offsetUs, time.verifiedUs)
  }
  const hasLost = rawUs + time.offsetUs < time.timeUs
  time.timeUs = rawUs + time.offsetUs
  const isCurrent = isKnown && epoch === time.epoch && !hasLost
  const expectUs = asked.expectUs - (time.lostUs - lostUs)
  if (isCurrent && expectUs <= time.timeUs + guardUs) {
    time.verifiedUs = Math.max(time.verifiedUs, Math.min(time.timeUs, expectUs))
    Object.assign(time, { rawUs, wallMs: asked.wallMs })
  } else if (!hasLiving(owners) || rawUs - time.rawUs > unverifiedUs) resume(time, asked.wallMs, rawUs)
  // The server's clock went back, perhaps by more than shows; or the process is new and cannot tell whether it did.
  else if (hasLost || isCurrent || !isKnown) forgetUnverified(time, rawUs)
  return jump !== undefined
}

function hasLiving(owners: UpstreamState['owners']): boolean {
  for (const { isGone } of owners.values()) if (!isGone) return true
  return false
}

/** No process measured what passed, so it is the smaller of what two clocks say. */
function resume(time: UpstreamState['time'], wallMs: number, rawUs: number): void {
  const passedUs = Math.max(0, Math.min(rawUs - time.rawUs, (wallMs - time.wallMs) * 1000))
  time.verifiedUs = Math.max(time.verifiedUs, Math.min(time.timeUs, time.verifiedUs + passedUs))
  forgetUnverified(time, rawUs)
  Object.assign(time, { rawUs, wallMs })
}

/** What processes know about shared time is void, so nobody can verify any more what is not verified. */
function forgetUnverified(time: UpstreamState['time'], rawUs: number): void {
  time.timeUs = time.verifiedUs
  time.offsetUs = time.timeUs - rawUs
  time.epoch += 1
}
