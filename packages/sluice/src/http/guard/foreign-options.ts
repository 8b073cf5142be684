import { formatDuration, parseDuration } from '../../core/duration.ts'
import { SluiceError, show } from '../../core/errors.ts'
import { limiterOptionNames } from '../../limiter/limiter-options.ts'

/** What express-rate-limit, @fastify/rate-limit and @nestjs/throttler call the two numbers of a limit. */
const amountNames: readonly string[] = ['limit', 'max']
const periodNames: readonly string[] = ['windowMs', 'timeWindow', 'ttl']
/** What express-rate-limit takes for a number that is left out. */
const usual = { amount: 5, periodMs: 60_000 }

const drafts: readonly unknown[] = ['draft-6', 'draft-7']
const leaveOut = 'leave it out'
const onFailure = "write { onStoreFailure: 'open' } in a rule, which is the default"
const inOnDenied = 'write { onDenied: (denial) => ... } beside the limiter'

/** What else users of those would write, and what stands for it here; `...` is the limiter or its options. */
const written: Readonly<Record<string, string | ((value: unknown) => string)>> = {
  keyGenerator: 'write { key: (request) => ... } beside the limiter',
  handler: inOnDenied,
  onLimitReached: inOnDenied,
  message: `${inOnDenied}, which answers in your own words`,
  statusCode: `${inOnDenied}, which answers with your own status`,
  errorResponseBuilder: inOnDenied,
  standardHeaders: (value) =>
    value === false
      ? 'write { headers: false } beside the limiter'
      : `write { headers: '${drafts.includes(value) ? value : 'draft-11'}' } beside the limiter`,
  legacyHeaders: (value) => (value === false ? leaveOut : "write { headers: 'x-ratelimit' } beside the limiter"),
  skipSuccessfulRequests: (value) => (value === false ? leaveOut : 'write { skipSuccessful: true } beside the limiter'),
  skipFailedRequests: (value) => (value === false ? leaveOut : 'write { skipFailed: true } beside the limiter'),
  requestWasSuccessful: 'write { chargeWhen: ({ status }) => ... } beside the limiter',
  skip: 'write { skip: { when: (request) => ... } } beside the limiter; it has to answer at once',
  allowList: 'write { skip: { when: (request, view) => ... } } beside the limiter',
  store: 'write { redis: openRedis(client) }, with the client of ioredis or node-redis, in the options of the limiter',
  passOnStoreError: onFailure,
  skipOnError: onFailure,
  identifier: 'write { policyName: (limit) => ... } beside the limiter',
  requestPropertyName: 'leave it out: the decision is on the request, as request.sluice',
  ipv6Subnet: 'write { identity: { ipv6Prefix: 56 } } beside the limiter',
  validate: leaveOut,
  nameSpace: "it belongs to the limiter: write { limits: { ... }, name: '...' }",
}

/**
 * Refuses options that users of other rate limiters would write, and those of a limiter where an adapter's belong, with
 * a line for each that says what to write instead. `call` is a call of the adapter in which `...` stands for its
 * limiter.
 *
 * @example
 * // Throws: rateLimit.windowMs is 900000; write rateLimit({ limits: { amount: 100, per: '15m' } })
 * refuseForeign({ windowMs: 900_000, max: 100 }, [], 'rateLimit(...)')
 */
export function refuseForeign(options: object, known: readonly string[], call: string): void {
  const lines = new Map<string, string>()
  for (const [name, value] of Object.entries(options ?? {})) {
    if (known.includes(name) && !isOtherKind(name, value)) continue
    const instead = insteadOf(name, value, options, call)
    // The two numbers of a limit are written together.
    if (instead !== undefined && !lines.has(instead))
      lines.set(instead, `rateLimit.${name} is ${show(value)}; ${instead}`)
  }
  if (lines.size > 0) throw new SluiceError('SLUICE_INVALID_OPTION', [...lines.values()].join('\n'))
}

/** What has the name of an option here, and is one of another library. */
function isOtherKind(name: string, value: unknown): boolean {
  if (name === 'skip') return typeof value === 'function'
  return name === 'store' && value !== undefined && typeof (value as { decide?: unknown } | null)?.decide !== 'function'
}

function insteadOf(name: string, value: unknown, options: object, call: string): string | undefined {
  const write = (limiter: string) => `write ${call.replace('...', limiter)}`
  if (amountNames.includes(name) || periodNames.includes(name)) {
    const isDynamic = amountNames.some((each) => typeof (options as Record<string, unknown>)[each] === 'function')
    return isDynamic ? tiersInstead : write(limitsLike(options))
  }
  // `skip` is one of ours too, and so is `store`.
  const isOwn = (name === 'skip' || limiterOptionNames.includes(name)) && !isOtherKind(name, value)
  const instead = Object.hasOwn(written, name) && !isOwn ? written[name] : undefined
  if (instead !== undefined) return typeof instead === 'function' ? instead(value) : instead
  return limiterOptionNames.includes(name) ? `it belongs to the limiter: ${write(`{ ${name}: ... }`)}` : undefined
}

const tiersInstead =
  'an amount that depends on the request is a tier of a policy: write { policy: { tiers: { ... }, rules: [{ tier: { by: ... } }] } }'

/** Limits with the same numbers, as they are written here. */
function limitsLike(options: object): string {
  const given = (names: readonly string[]): unknown =>
    Object.entries(options).find(([name]) => names.includes(name))?.[1]
  const amount = Number(given(amountNames) ?? usual.amount)
  const whole = Number.isSafeInteger(amount) && amount >= 0 ? amount : '...'
  return `{ limits: { amount: ${whole}, per: '${periodLike(given(periodNames))}' } }`
}

const shortUnit = (_: string, count: string, unit: string): string => `${count}${unit[0]}`

function periodLike(period: unknown): string {
  try {
    // Some write '15 minutes'.
    const short = typeof period === 'string' ? period.replace(/^(\d+) ?(second|minute|hour|day)s?$/, shortUnit) : period
    return formatDuration(parseDuration((short ?? usual.periodMs) as number, 'per'))
  } catch {
    return '...'
  }
}
