import type { Header, HeaderWriter } from './header.ts'
import { resetMs, tightest, units } from './header.ts'

/** Limits of tokens go by their name or that of their rule: `tokens`, `tpm`, `tpd`. */
const ofTokens = /token|\btp[smhd]\b/i

/**
 * `x-ratelimit-limit-requests`, `-remaining-requests`, `-reset-requests`, and the same for tokens, as OpenAI's API
 * sends them and its clients read them. Of several limits the tightest is shown.
 */
export const openAi: HeaderWriter = ({ limits }) =>
  (['requests', 'tokens'] as const).flatMap((kind): Header[] => {
    // Work in flight has no period; clients would take it for requests per period.
    const periodic = limits.filter(({ windowMs }) => windowMs > 0)
    const own = periodic.filter(({ name, rule }) => (kind === 'tokens') === ofTokens.test(`${rule} ${name}`))
    if (own.length === 0) return []
    const limit = tightest(own)
    return [
      [`x-ratelimit-limit-${kind}`, `${units(limit.amount)}`],
      [`x-ratelimit-remaining-${kind}`, `${units(limit.remaining)}`],
      [`x-ratelimit-reset-${kind}`, goDuration(resetMs(limit))],
    ]
  })

/** A time as Go writes it: `1s`, `6m0s`, `120ms`. */
function goDuration(ms: number): string {
  if (ms < 1000) return `${Math.ceil(ms)}ms`
  const seconds = Math.ceil(ms / 1000)
  const parts = [Math.floor(seconds / 3600), Math.floor((seconds % 3600) / 60), seconds % 60]
  const first = parts.findIndex((part) => part > 0)
  return parts.map((part, i) => (i < first ? '' : `${part}${'hms'[i]}`)).join('')
}
