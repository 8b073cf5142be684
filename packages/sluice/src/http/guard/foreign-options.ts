import { formatDuration, parseDuration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import { limiterOptionNames } from '../../limiter/limiter-options.ts'

/** What express-rate-limit, @fastify/rate-limit and @nestjs/throttler call the two numbers of a limit. */
const amountNames: readonly string[] = ['limit', 'max']
const periodNames: readonly string[] = ['windowMs', 'timeWindow', 'ttl']
/** What express-rate-limit takes for a number that is left out. */
const usual = { amount: 5, periodMs: 60_000 }

/**
 * Refuses options that users of other rate limiters would write, and those of a limiter where an adapter's belong, with
 * what to write instead. `call` is a call of the adapter in which `...` stands for its limiter.
 *
 * @example
 * // Throws: rateLimit.windowMs is 900000; write rateLimit({ limits: { amount: 100, per: '15m' } })
 * refuseForeign({ windowMs: 900_000, max: 100 }, [], 'rateLimit(...)')
 */
export function refuseForeign(options: object, known: readonly string[], call: string): void {
  for (const [name, value] of Object.entries(options ?? {})) {
    if (known.includes(name)) continue
    const write = (limiter: string) => `write ${call.replace('...', limiter)}`
    if (amountNames.includes(name) || periodNames.includes(name))
      throw invalidOption(`rateLimit.${name}`, value, write(limitsLike(options)))
    if (limiterOptionNames.includes(name))
      throw invalidOption(`rateLimit.${name}`, value, `it belongs to the limiter: ${write(`{ ${name}: ... }`)}`)
  }
}

/** Limits with the same numbers, as they are written here. */
function limitsLike(options: object): string {
  const given = (names: readonly string[]): unknown =>
    Object.entries(options).find(([name, value]) => names.includes(name) && typeof value !== 'function')?.[1]
  const amount = given(amountNames) ?? usual.amount
  return `{ limits: { amount: ${Number(amount) || usual.amount}, per: '${periodLike(given(periodNames))}' } }`
}

function periodLike(period: unknown): string {
  try {
    return formatDuration(parseDuration(period as number, 'per'))
  } catch {
    return formatDuration(usual.periodMs)
  }
}
