import type { LimitStatus } from '../../core/engine/ask.ts'
import { type HeaderWriter, type NameOf, seconds, units } from './header.ts'
import { type PolicyRow, PolicyText } from './policy-text.ts'

const plain = /^[ !#-[\]-~]*$/
const unprintable = /[^ -~]+/gu
const loneSurrogate = /\p{Surrogate}/gu

/**
 * Writes text as an RFC 9651 string. Such strings are printable ASCII, so everything else is written as the
 * percent-encoded bytes of its UTF-8: `per "user"` is `"per \\"user\\""`.
 */
function sfString(text: string): string {
  if (plain.test(text)) return `"${text}"`
  const printable = text.replace(loneSurrogate, '\ufffd').replace(unprintable, encodeURIComponent)
  return `"${printable.replace(/["\\]/g, '\\$&')}"`
}

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
  const fields = new WeakMap<PolicyRow, RowField>()
  let last: RowField | undefined
  return ({ limits, allowed, policyVersion }, partition) => {
    const row = texts.row(limits, policyVersion)
    if (last?.row !== row) {
      last = fields.get(row) ?? new RowField(row)
      fields.set(row, last)
    }
    return [
      ['RateLimit-Policy', row.text],
      ['RateLimit', allowed ? last.write(limits, partition) : last.repeat(limits, partition)],
    ]
  }
}

/** Writes the `RateLimit` field of one row of limits again and again. */
class RowField {
  readonly row: PolicyRow
  #partition = ''
  /** What came after the remaining units of each limit when it was last written: it stays the same for a second. */
  readonly #tails: string[] = []
  readonly #times: number[] = []
  #denied: { readonly remaining: readonly number[]; readonly field: string } | undefined

  constructor(row: PolicyRow) {
    this.row = row
  }

  write(limits: readonly LimitStatus[], partition: string): string {
    if (this.#partition !== partition) this.#begin(partition)
    let field = `${this.row.labels[0]};r=`
    for (let i = 0; i < limits.length; i++) {
      const t = secondsOf(limits[i]!)
      if (this.#times[i] !== t) this.#tell(i, t)
      field = field + units(limits[i]!.remaining) + this.#tails[i]!
    }
    return field
  }

  /** A denial spends nothing, so all denials of a flood have the same headers until the second is over. */
  repeat(limits: readonly LimitStatus[], partition: string): string {
    if (this.#partition !== partition) this.#begin(partition)
    if (this.#denied === undefined || !this.#isSame(limits, this.#denied.remaining)) {
      this.#denied = { remaining: limits.map(({ remaining }) => remaining), field: this.write(limits, partition) }
    }
    return this.#denied.field
  }

  #isSame(limits: readonly LimitStatus[], remaining: readonly number[]): boolean {
    for (let i = 0; i < limits.length; i++) {
      if (limits[i]!.remaining !== remaining[i] || secondsOf(limits[i]!) !== this.#times[i]) return false
    }
    return true
  }

  #begin(partition: string): void {
    this.#partition = partition
    this.#times.length = 0
    this.#denied = undefined
  }

  #tell(i: number, t: number): void {
    const next = this.row.labels[i + 1]
    this.#times[i] = t
    this.#tails[i] = `${t < 0 ? '' : `;t=${t}`}${this.#partition}${next === undefined ? '' : `, ${next};r=`}`
    this.#denied = undefined
  }
}

/** How long the remaining units are good for, or -1. Once a limit denies, that is how long until it no longer does. */
function secondsOf({ windowMs, resetMs, retryAfterMs }: LimitStatus): number {
  if (retryAfterMs > 0) return retryAfterMs === Number.POSITIVE_INFINITY ? -1 : seconds(retryAfterMs)
  return windowMs > 0 ? seconds(resetMs) : -1
}
