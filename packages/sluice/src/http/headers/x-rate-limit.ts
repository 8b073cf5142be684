import { seconds, units } from './header.ts'
import type { HeaderWriter } from './rate-limit-headers.ts'
import { resetMs, tightest } from './tightest.ts'

/** `X-RateLimit-Limit`, `-Remaining` and `-Reset` of the tightest limit, with the reset in seconds from now. */
export const xRateLimit: HeaderWriter = (headers, limits) => {
  const limit = tightest(limits)
  writeLimit(headers, limit, seconds(resetMs(limit)))
}

/** The same with the reset as seconds since 1970, as GitHub writes it. */
export const xRateLimitEpoch: HeaderWriter = (headers, limits) => {
  const limit = tightest(limits)
  writeLimit(headers, limit, seconds(Date.now() + resetMs(limit)))
}

function writeLimit(
  headers: Parameters<HeaderWriter>[0],
  { amount, remaining }: { readonly amount: number; readonly remaining: number },
  reset: number,
): void {
  headers.push(
    ['X-RateLimit-Limit', `${units(amount)}`],
    ['X-RateLimit-Remaining', `${units(remaining)}`],
    ['X-RateLimit-Reset', `${reset}`],
  )
}
