import type { TimeSource } from '../../core/clock.ts'
import type { LimitStatus } from '../../core/engine/ask.ts'
import { type Header, seconds, units } from './header.ts'
import type { HeaderWriter } from './header-writer.ts'
import { resetMs, tightest } from './tightest.ts'

/** `X-RateLimit-Limit`, `-Remaining` and `-Reset` of the tightest limit, with the reset in seconds from now. */
export const xRateLimit: HeaderWriter = ({ limits }) => {
  const limit = tightest(limits)
  return fields(limit, seconds(resetMs(limit)))
}

/** The same with the reset as seconds since 1970, as GitHub writes it. */
export function xRateLimitEpoch(clock: TimeSource): HeaderWriter {
  return function writeEpoch({ limits }) {
    const limit = tightest(limits)
    return fields(limit, seconds(clock.now() / 1000 + resetMs(limit)))
  }
}

function fields({ amount, remaining }: LimitStatus, reset: number): Header[] {
  return [
    ['X-RateLimit-Limit', `${units(amount)}`],
    ['X-RateLimit-Remaining', `${units(remaining)}`],
    ['X-RateLimit-Reset', `${reset}`],
  ]
}
