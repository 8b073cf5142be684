import * as z from 'zod'
import { maxUnits } from '../../../core/algorithms/limit.ts'
import { maxLimitsPerRule } from '../../../core/engine/limit-set.ts'
import { maxParts } from '../../../core/key.ts'
import type { LimitSpec, LimitsSpec, OverrideSpec, PaceSpec, PolicyDocument } from '../document.ts'
import { capacitySchema } from './capacity-schema.ts'
import { strictObject } from './strict-object.ts'
import { upstreamSchema } from './upstream-schema.ts'

const units = z.int().min(0).max(maxUnits)
const label = z
  .string()
  .regex(/^[A-Za-z0-9][\w.:-]{0,63}$/, 'use up to 64 letters, digits and _ . : -, beginning with a letter or digit')
const algorithm = z
  .enum(['fixed-window', 'sliding-window', 'sliding-log', 'gcra', 'calendar', 'concurrency'])
  .describe('How units are counted; fixed-window, starting at the first hit, unless said otherwise.')
const burst = units.min(1).describe('gcra: how many units may pass at once.')

const catchUp = { error: 'use a number from 1 to 100, such as 1.5' }
const weight = { error: 'use a number from 0 to 1000000' }
const hours = { error: 'use "even", or list 24 numbers, the weight of each hour of the day' }

const pace: z.ZodType<PaceSpec> = strictObject(
  {
    curve: z
      .union([
        z.literal('even', hours),
        z.array(z.number(weight).min(0, weight).max(1_000_000, weight), hours).length(24, hours),
      ])
      .optional()
      .describe('even, or 24 weights by the hour of the day; even unless said otherwise.'),
    burst: burst.optional().describe('How many units may be spent ahead of the plan; one minute of it by default.'),
    catchUp: z
      .number(catchUp)
      .min(1, catchUp)
      .max(100, catchUp)
      .optional()
      .describe('When behind, at most so many times the planned rate; 1.5 by default.'),
  },
  'Spreads the amount over the period.',
)

/** The shape of one limit. */
const limitSpec: z.ZodType<LimitSpec> = strictObject(
  {
    rps: units.optional().describe('Units per second.'),
    rpm: units.optional().describe('Units per minute.'),
    rph: units.optional().describe('Units per hour.'),
    rpd: units.optional().describe('Units per 24 hours.'),
    amount: units.optional().describe('Units per period, or in flight.'),
    per: z
      .string({ error: 'say the unit: "60s" for seconds, "60ms" for milliseconds' })
      .optional()
      .describe('The period: 500ms, 30s, 15m, 1h30m, 1d; or day, week, month of a calendar.'),
    algorithm: algorithm.optional(),
    burst: burst.optional(),
    name: label.optional().describe('What decisions, headers and metrics call the limit.'),
    align: z.enum(['first-hit', 'clock']).optional().describe('fixed-window: where windows start.'),
    zone: z.string().optional().describe('calendar: an IANA zone such as Europe/Berlin; UTC unless said otherwise.'),
    pace: pace.optional().describe('calendar: spreads the amount over the period.'),
  },
  'A limit in long form (amount, per) or several in short form (rps, rpm, rph, rpd).',
)

/** The shape of the limits of a rule, a tier or an override. */
export const limitsSpec: z.ZodType<LimitsSpec> = z
  .union([limitSpec, z.array(limitSpec).min(1).max(maxLimitsPerRule)])
  .describe('One limit or a list of limits. All of them are checked before any is spent.')

const selector = z.string().min(1).max(500)
const part = z.union([z.string(), z.number(), z.boolean()])
const condition = z
  .union([part, z.array(part).min(1), strictObject({ exists: z.boolean() }, 'Whether the field is there.')])
  .describe('A value, a list of values, or { exists: true }. Values are compared as text.')
const conditions = z.record(z.string().min(1).max(200), condition)

const match = strictObject(
  {
    method: z
      .union([z.string(), z.array(z.string()).min(1)])
      .optional()
      .describe('A method or a list of them. GET includes HEAD.'),
    path: z
      .union([z.string(), z.array(z.string()).min(1)])
      .optional()
      .describe('A pattern such as /v1/users/:id or /v1/*, or a list of them.'),
    headers: conditions.optional(),
    query: conditions.optional(),
    body: conditions.optional().describe('Fields of the body by path, such as items[0].id.'),
  },
  'Which requests the rule applies to; all that is said must hold.',
)

const tier = z
  .union([
    selector,
    strictObject(
      {
        by: selector
          .optional()
          .describe('A selector that yields an id; the first part of the key unless said otherwise.'),
        map: z.record(z.string(), z.string()).optional().describe('From an id to the name of a tier.'),
        env: z
          .union([z.boolean(), z.string().regex(/^[A-Za-z_]\w*$/, 'use the name of an environment variable')])
          .optional()
          .describe('Look RATE_LIMIT_TIER_<ID> up, then RATE_LIMIT_TIER; a text replaces the prefix.'),
        default: z.string().optional().describe('The tier of an id that is not known.'),
      },
      'How the tier of a request is found.',
    ),
  ])
  .describe('A selector that yields the name of a tier, or how an id is looked up.')

const tiers = z.record(label, limitsSpec)

const callable = z.custom<never>((value) => typeof value === 'function')

// Functions can stand in a policy that is written in code, never in a document; editors get the schema without them.
function schemaOf(inCode: boolean): {
  document: z.ZodType<PolicyDocument>
  override: z.ZodType<OverrideSpec>
  ruleFields: Readonly<Record<string, z.ZodType>>
} {
  const parts = z
    .array(selector)
    .min(1)
    .max(maxParts - 1)
  const alternative = inCode ? z.union([selector, parts, callable]) : z.union([selector, parts])
  const description = z.string().max(1000).optional().describe('For people; it changes nothing.')
  const override = strictObject(
    {
      description,
      // The list first: most overrides have one, and a union tries its forms in order.
      key: z.union([z.array(part).min(1).max(maxParts), part]),
      limits: limitsSpec,
      until: z
        .union(inCode ? [z.string(), z.number(), z.date()] : [z.string(), z.number()])
        .optional()
        .describe('Until when it holds: an ISO date, a time with a zone, or milliseconds since 1970.'),
    },
    'Other limits for exactly one key; they replace those of the rule and of the tier.',
  )
  const ruleFields = {
    name: label.describe('Names the rule in decisions, metrics and keys. Unique in the policy.'),
    description,
    match: match.optional(),
    key: z
      .union([
        alternative,
        strictObject({ first: z.array(alternative).min(1).max(16) }, 'The first key the request has.'),
      ])
      .optional()
      .describe('Whose bucket: selectors such as body.tenant_id, headers.x-api-key, ip, const:all.'),
    onMissing: z
      .enum(['skip', 'deny'])
      .optional()
      .describe('What if the request lacks a part of the key; skip by default.'),
    limits: limitsSpec.optional(),
    tier: tier.optional(),
    tiers: tiers.optional().describe('Tiers that mean something else in this rule.'),
    overrides: z.array(override).optional(),
    cost: (inCode ? z.union([units, selector, callable]) : z.union([units, selector]))
      .optional()
      .describe('Units one request spends: a number, or a selector such as body.tokens ?? 1.'),
    algorithm: algorithm.optional(),
    burst: burst.optional(),
    onStoreFailure: z
      .enum(['open', 'closed', 'local', 'recount'])
      .optional()
      .describe('What if the store cannot decide; open by default.'),
    mode: z.enum(['enforce', 'shadow']).optional().describe('shadow: decide and count, but never deny.'),
    lease: z.boolean().optional().describe('Draw units ahead of use and spend them locally.'),
  }
  const rule = strictObject(ruleFields, 'Which requests, whose bucket, and how much.')
  const document = strictObject(
    {
      $schema: z.string().optional(),
      service: z.string().min(1).max(200).describe('The service this policy is for.'),
      description,
      version: z.union([z.string().min(1).max(100), z.number()]).optional(),
      tiers: tiers
        .optional()
        .describe('Limits by tier. Built in: free 100, standard 1000, enterprise 10000 per minute.'),
      rules: z.array(rule).min(1).optional().describe('How much may come in. A policy has rules, upstreams or both.'),
      capacity: capacitySchema.optional(),
      upstreams: z.array(upstreamSchema).min(1).max(1000).optional().describe('How much may go out to each vendor.'),
    },
    'How much may flow through one service.',
  )
  return { document, override, ruleFields }
}

const inCode = schemaOf(true)

/** The one schema of policy documents. */
export const policySchema: z.ZodType<PolicyDocument> = inCode.document

/** The shape of one override. */
export const overrideSchema: z.ZodType<OverrideSpec> = inCode.override

/** The shape of tiers. */
export const tiersSchema: z.ZodType<Readonly<Record<string, LimitsSpec>>> = tiers

/** The shape of each field of a rule. */
export const ruleFields: Readonly<Record<string, z.ZodType>> = inCode.ruleFields

/** The JSON Schema of policy documents, for editors. */
export function policyJsonSchema(): object {
  const { $schema, ...rest } = z.toJSONSchema(schemaOf(false).document, { io: 'input' })
  return { $schema, title: 'Sluice policy', ...rest }
}
