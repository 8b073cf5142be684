import type { LimitStatus } from '../../core/ask.ts'
import { seconds, units } from './header.ts'
import { PolicyText } from './policy-text.ts'
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
  return (headers, limits, { policyVersion, partition }) => {
    let node = texts.root(policyVersion)
    let field = ''
    for (const status of limits) {
      node = texts.next(node, status)
      field += node.lead + units(status.remaining) + time(status) + partition
    }
    headers.push(['RateLimit-Policy', node.text], ['RateLimit', field])
  }
}

/** How long the remaining units are good for. Once a limit denies, that is how long until it no longer does. */
function time({ windowMs, resetMs, retryAfterMs }: LimitStatus): string {
  if (retryAfterMs > 0) return retryAfterMs === Number.POSITIVE_INFINITY ? '' : timeText(seconds(retryAfterMs))
  return windowMs > 0 ? timeText(seconds(resetMs)) : ''
}

const timeTexts = new Map<number, string>()
const maxTimeTexts = 10_000

/** The same few times come again and again within a second. */
function timeText(t: number): string {
  const known = timeTexts.get(t)
  if (known !== undefined) return known
  const text = `;t=${t}`
  if (timeTexts.size >= maxTimeTexts) timeTexts.clear()
  timeTexts.set(t, text)
  return text
}
