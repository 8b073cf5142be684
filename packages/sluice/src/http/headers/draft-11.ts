import type { LimitStatus } from '../../core/ask.ts'
import { seconds, units } from './header.ts'
import { type PolicyRow, PolicyText } from './policy-text.ts'
import type { HeaderWriter, NameOf } from './rate-limit-headers.ts'
import { sfString } from './sf-string.ts'

/**
 * draft-ietf-httpapi-ratelimit-headers-11: two lists with an item for each limit.
 *
 *     RateLimit-Policy: "rps";q=20;w=1, "rpm";q=1000;w=60
 *     RateLimit: "rps";r=19;t=1, "rpm";r=50;t=30
 */
export function draft11(nameOf: NameOf): HeaderWriter {
  const texts = new PolicyText({
    label: (status) => sfString(nameOf(status)),
    item: ({ amount, windowMs }, label) =>
      windowMs > 0
        ? `${label};q=${units(amount)};w=${seconds(windowMs)}`
        : `${label};q=${units(amount)};qu="concurrent-requests"`,
  })
  const fieldOf = rememberingDenied()
  return (limits, policyVersion, partition) => {
    const row = texts.row(limits, policyVersion)
    return [
      ['RateLimit-Policy', row.text],
      ['RateLimit', fieldOf(row, limits, partition)],
    ]
  }
}

type FieldOf = (row: PolicyRow, limits: readonly LimitStatus[], partition: string) => string

const fieldOf: FieldOf = ({ leads }, limits, partition) => {
  let field = ''
  for (let i = 0; i < limits.length; i++) {
    const status = limits[i]!
    const t = secondsOf(status)
    field = field + leads[i]! + units(status.remaining)
    if (t >= 0) field = `${field};t=${t}`
    if (partition !== '') field += partition
  }
  return field
}

/** How long the remaining units are good for, or -1. Once a limit denies, that is how long until it no longer does. */
function secondsOf({ windowMs, resetMs, retryAfterMs }: LimitStatus): number {
  if (retryAfterMs > 0) return retryAfterMs === Number.POSITIVE_INFINITY ? -1 : seconds(retryAfterMs)
  return windowMs > 0 ? seconds(resetMs) : -1
}

/** A denial spends nothing, so all of a flood are told the same until the second is over. */
function rememberingDenied(): FieldOf {
  let known: { row: PolicyRow; partition: string; numbers: readonly number[]; field: string } | undefined
  return (row, limits, partition) => {
    if (!limits.some(denies)) return fieldOf(row, limits, partition)
    if (known?.row === row && known.partition === partition && haveNumbers(limits, known.numbers)) return known.field
    const numbers = limits.flatMap((status) => [status.remaining, secondsOf(status)])
    known = { row, partition, numbers, field: fieldOf(row, limits, partition) }
    return known.field
  }
}

const denies = (status: LimitStatus): boolean => status.retryAfterMs > 0

function haveNumbers(limits: readonly LimitStatus[], numbers: readonly number[]): boolean {
  for (let i = 0; i < limits.length; i++) {
    if (limits[i]!.remaining !== numbers[2 * i] || secondsOf(limits[i]!) !== numbers[2 * i + 1]) return false
  }
  return true
}
