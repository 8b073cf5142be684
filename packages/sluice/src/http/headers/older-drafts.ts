import type { TimeSource } from '../../core/clock.ts'
import type { LimitStatus } from '../../core/engine/ask.ts'
import { type Header, type HeaderWriter, resetMs, seconds, tightest, units } from './header.ts'
import { PolicyText } from './policy-text.ts'

const policyTexts = () =>
  new PolicyText({
    label: () => '',
    item: ({ amount, windowMs }) => (windowMs > 0 ? `${units(amount)};w=${seconds(windowMs)}` : `${units(amount)}`),
  })

/**
 * Draft 7: `RateLimit-Policy: 20;w=1, 1000;w=60` and `RateLimit: limit=1000, remaining=50, reset=30` of the tightest
 * limit.
 */
export function draft7(): HeaderWriter {
  const texts = policyTexts()
  return ({ limits, policyVersion }) => {
    const { text } = texts.row(limits, policyVersion)
    const limit = tightest(limits)
    const field = `limit=${units(limit.amount)}, remaining=${units(limit.remaining)}, reset=${seconds(resetMs(limit))}`
    return [
      ['RateLimit-Policy', text],
      ['RateLimit', field],
    ]
  }
}

/**
 * Draft 6: the tightest limit in `RateLimit-Limit`, `-Remaining` and `-Reset`, and all limits in `RateLimit-Policy`.
 */
export function draft6(): HeaderWriter {
  const texts = policyTexts()
  return ({ limits, policyVersion }) => {
    const { text } = texts.row(limits, policyVersion)
    const limit = tightest(limits)
    return [
      ['RateLimit-Policy', text],
      ['RateLimit-Limit', `${units(limit.amount)}`],
      ['RateLimit-Remaining', `${units(limit.remaining)}`],
      ['RateLimit-Reset', `${seconds(resetMs(limit))}`],
    ]
  }
}

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
