import * as z from 'zod'
import { count, flag, object, type Shape, text, textOrNull, wholeOrNull } from './parts.ts'

/** Most checks in one call. */
export const maxChecks = 1000

const part = z.union([z.string(), z.number(), z.boolean()], { error: 'must be a text, a number or a boolean' })
const key = z
  .union([z.string(), z.array(part).min(1).max(32)], {
    error: 'must be a text, or a list of 1 to 32 parts that are texts, numbers or booleans',
  })
  .meta({ description: 'A key: a text, or a list of parts.' })
const rule = text.meta({ description: 'May be left out when the policy has only one rule.' })
const tier = text.meta({ description: 'The tier of the key, where only requests tell it.' })
const ofClass = text.meta({
  description: 'The class it counts for, where classes share the limit; the default class of the policy unless given.',
})
const cost = count.meta({ description: 'Units to spend; 1, or what the policy says, unless given.' })
const lines = z.union([text, z.array(text)], { error: 'must be a text or a list of texts' })
const fields = { error: 'must be an object' }

export const Request = object(
  {
    method: text.meta({ default: 'GET' }).optional(),
    path: text.meta({ default: '/', description: 'May carry the query.' }).optional(),
    route: text.optional(),
    headers: z.record(z.string(), lines, fields).optional(),
    query: z.record(z.string(), z.unknown(), fields).optional(),
    body: z.unknown().optional(),
    ip: text.optional(),
    context: z
      .record(z.string(), z.unknown(), fields)
      .meta({ description: 'What the service itself would say of the request, such as { "user": { "plan": "pro" } }.' })
      .optional(),
  },
  'must be an object such as { "method": "GET", "path": "/" }',
).meta({ description: 'A request as rules see it.' })

const subject = {
  key: key.optional(),
  rule: rule.optional(),
  tier: tier.optional(),
  class: ofClass.optional(),
  cost: cost.optional(),
  request: Request.optional(),
}

/** Fields of a key cannot stand beside a request, which rules are matched against. */
function keyOrRequest({ value, issues }: z.core.ParsePayload<z.infer<z.ZodObject<typeof subject>>>): void {
  const wrong = (path: string[], message: string): number =>
    issues.push({ code: 'custom', input: value, path, message })
  const beside = (['key', 'rule', 'tier', 'class'] as const).find((field) => value[field] !== undefined)
  if (value.request === undefined) {
    if (value.key === undefined) wrong([], 'must have a key, such as "user:1", or a request')
  } else if (beside !== undefined) wrong([beside], 'cannot stand beside request, which rules are matched against')
}
const oneOf = { oneOf: [{ required: ['key'] }, { required: ['request'] }] }

export const BatchCheck = object(subject).check(keyOrRequest).meta(oneOf)
export const Check = object({ ...subject, mirror: flag.optional() })
  .check(keyOrRequest)
  .meta(oneOf)
export const Checks = object({ checks: z.array(BatchCheck).min(1).max(maxChecks) })
export const Reserve = object({
  ...subject,
  id: text.optional(),
  ttl: z
    .union([z.int(), text], { error: 'must be a duration such as "30s", or a whole number of milliseconds' })
    .optional(),
  kind: z
    .enum(['reserve', 'acquire'], { error: 'must be "reserve" or "acquire"' })
    .meta({ default: 'reserve' })
    .optional(),
})
  .check(keyOrRequest)
  .meta(oneOf)
const ofHold = 'must say which hold it is, and what it cost; 0 gives everything back'
export const Settle = object({
  ...subject,
  id: z.string({ error: ofHold }),
  actual: z.union([count, z.record(z.string(), count)], { error: ofHold }),
})
  .check(keyOrRequest)
  .meta(oneOf)
export const Explain = object({
  request: Request.optional(),
  key: key.optional(),
  rule: rule.optional(),
  tier: tier.optional(),
  class: ofClass.optional(),
})
  .check(keyOrRequest as never)
  .meta(oneOf)

const never = { description: 'null: never.' }
export const Pace = object({ planned: count, spent: count, burst: count }).meta({
  description: 'Where a paced limit stands on its curve.',
})
export const Limit = object({
  rule: text,
  name: text,
  amount: count,
  remaining: count,
  windowMs: count.meta({ description: '0 for a limit on what is in flight.' }),
  resetMs: count,
  retryAfterMs: wholeOrNull.meta(never),
  period: object({ start: text, end: text })
    .meta({ description: 'The calendar period of a limit per day, week or month, as ISO 8601; it ends before `end`.' })
    .optional(),
  pace: Pace.optional(),
  share: object({ class: text, guaranteed: count, spent: count })
    .meta({ description: 'What a class is guaranteed of a limit that classes share, and has spent in this window.' })
    .optional(),
  block: z.literal(true).optional().meta({ description: 'It is no limit: the key is blocked until resetMs is over.' }),
})
export const Decision = object({
  allowed: flag,
  reason: z.enum(['allowed', 'quota', 'blocked', 'unavailable', 'missing-key', 'forbidden']),
  rule: textOrNull,
  retryAfterMs: wholeOrNull.meta(never),
  by: z.enum(['store', 'lease', 'deny-cache', 'local', 'recount', 'open', 'closed', 'policy']).meta({
    description: 'What decided; policy when no rule applied, a key was missing, or nothing is counted for the key.',
  }),
  degraded: flag.meta({ description: "Decided without the store, by the rules' onStoreFailure." }),
  failure: textOrNull,
  policyVersion: text,
  limits: z.array(Limit),
  shadow: z.array(object({ rule: text, allowed: flag, limits: z.array(Limit) })),
})
export const Decisions = object({
  decisions: z.array(
    z.union([Decision, object({ error: object({ status: count, detail: text, code: text.optional() }) })]),
  ),
})
export const Hold = object({ id: text, allowed: flag, decision: Decision })
export const Settled = object({ settled: flag })
const fixed = z
  .enum(['unlimited', 'deny'])
  .nullable()
  .meta({ description: 'What is decided without counting; null where limits are counted.' })
const tierUnknown = flag.meta({
  description: 'The tier comes from the request and was not given, so no limits are shown.',
})
export const Explanation = object({
  service: text,
  policyVersion: text,
  rules: z.array(
    object({
      rule: text,
      mode: z.enum(['enforce', 'shadow']),
      matched: flag,
      why: text,
      key: textOrNull,
      tier: textOrNull,
      cost: wholeOrNull,
      limits: z.array(Limit),
      fixed,
      tierUnknown,
    }),
  ),
  decision: Decision.nullable().meta({ description: 'null: it depends on a tier that is not known.' }),
})
const limitsSpec = z.union([
  z.record(z.string(), z.unknown()),
  z.array(z.record(z.string(), z.unknown())),
  z.enum(['unlimited', 'deny']),
])
export const Inspection = object({
  key: text,
  rule: text,
  limits: z.array(Limit),
  fixed,
  tierUnknown,
  degraded: flag.meta({
    description: 'The store did not answer: the limits are what this process knows without it, such as its own share.',
  }),
  holds: z.array(object({ id: text, cost: count, expiresInMs: z.int() })),
  explanation: text,
  written: limitsSpec
    .nullable()
    .meta({ description: 'The limits of the rule as the policy writes them; null where only tiers have some.' }),
  override: z
    .looseObject({ limits: limitsSpec, until: z.union([z.string(), z.number()]).optional() })
    .nullable()
    .meta({ description: 'The override that the policy has for this key, also an expired one; null for none.' }),
})
export const Reset = object({ reset: flag, key: text, stored: flag })
export const Block = object({ for: z.union([text, count]).meta({ description: 'Such as "15m"; a number is ms.' }) })
export const Blocked = object({ blocked: flag, key: text })
export const Unblocked = object({ unblocked: flag, key: text })

export type Request = Shape<typeof Request>
export type BatchCheck = Shape<typeof BatchCheck>
export type Limit = Shape<typeof Limit>
export type Decision = Shape<typeof Decision>
export type Explanation = Shape<typeof Explanation>
export type ExplainedRule = Explanation['rules'][number]
export type Inspection = Shape<typeof Inspection>
export type LimitsSpec = Shape<typeof limitsSpec>
