import { formatDuration, parseDuration } from '../../core/duration.ts'
import { invalidOption } from '../../core/errors.ts'
import { limiterOptionNames } from '../../limiter/limiter-options.ts'

/** What express-rate-limit, @fastify/rate-limit and @nestjs/throttler call the two numbers of a limit. */
const amountNames: readonly string[] = ['limit', 'max']
const periodNames: readonly string[] = ['windowMs', 'timeWindow', 'ttl']
/** What express-rate-limit takes for a number that is left out. */
const usual = { amount: 5, periodMs: 60_000 }

/** What else users of those would write, and what stands for it here; `...` is the limiter or its options. */
const written: Readonly<Record<string, string>> = {
  keyGenerator: 'write { key: (request) => ... } beside the limiter',
  handler: 'write { onDenied: (denial) => ... } beside the limiter',
  message: 'write { onDenied: (denial) => ... } beside the limiter, which answers in your own words',
  statusCode: 'write { onDenied: (denial) => ... } beside the limiter, which answers with your own status',
  errorResponseBuilder: 'write { onDenied: (denial) => ... } beside the limiter',
  standardHeaders: "write { headers: 'draft-11' } beside the limiter; false sends none",
  legacyHeaders: "write { headers: 'x-ratelimit' } beside the limiter",
  skipSuccessfulRequests: 'write { chargeWhen: ({ status }) => status >= 400 } beside the limiter',
  skipFailedRequests: 'write { chargeWhen: ({ status }) => status < 400 } beside the limiter',
  allowList: 'write { skip: { when: (request, view) => ... } } beside the limiter',
  ipv6Subnet: 'write { identity: { ipv6Prefix: 56 } } beside the limiter',
  nameSpace: "it belongs to the limiter: write { limits: { ... }, name: '...' }",
}

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
    if (amountNames.includes(name) || periodNames.includes(name)) {
      const dynamic = amountNames.find((each) => typeof (options as Record<string, unknown>)[each] === 'function')
      throw invalidOption(`rateLimit.${name}`, value, dynamic === undefined ? write(limitsLike(options)) : tiersInstead)
    }
    const instead = Object.hasOwn(written, name) ? written[name] : undefined
    if (instead !== undefined) throw invalidOption(`rateLimit.${name}`, value, instead)
    if (limiterOptionNames.includes(name))
      throw invalidOption(`rateLimit.${name}`, value, `it belongs to the limiter: ${write(`{ ${name}: ... }`)}`)
  }
}

const tiersInstead = 'an amount that depends on the request is a tier of a policy: write rules with tier and tiers'

/** Limits with the same numbers, as they are written here. */
function limitsLike(options: object): string {
  const given = (names: readonly string[]): unknown =>
    Object.entries(options).find(([name]) => names.includes(name))?.[1]
  const amount = Number(given(amountNames) ?? usual.amount)
  const whole = Number.isSafeInteger(amount) && amount >= 0 ? amount : usual.amount
  return `{ limits: { amount: ${whole}, per: '${periodLike(given(periodNames))}' } }`
}

function periodLike(period: unknown): string {
  try {
    return formatDuration(parseDuration(period as number, 'per'))
  } catch {
    return formatDuration(usual.periodMs)
  }
}
