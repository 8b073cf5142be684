import { seconds, units } from './header.ts'
import type { HeaderWriter } from './header-writer.ts'
import { PolicyText } from './policy-text.ts'
import { resetMs, tightest } from './tightest.ts'

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
