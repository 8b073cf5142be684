import * as z from 'zod'
import { maxUnits } from '../../../core/algorithms/limit.ts'
import { maxLimitsPerRule } from '../../../core/engine/limit-set.ts'
import { maxParts } from '../../../core/key.ts'
import type {
  LimitSpec,
  LimitsSpec,
  OverrideSpec,
  PaceSpec,
  PolicyDocument,
  RuleSpec,
  TierLimitsSpec,
} from '../document.ts'
import { capacitySchema } from './capacity-schema.ts'
import { matchSchema, part } from './match-schema.ts'
import { describeStrict, strictObject } from './strict-object.ts'
import { label, upstreamSchema } from './upstream-schema.ts'

const units = z.int().min(0).max(maxUnits)
const algorithm = z
  .enum(['fixed-window', 'sliding-window', 'sliding-log', 'gcra', 'calendar', 'concurrency'])
  .describe('How units are counted; fixed-window by default.')
const burst = units.min(1).describe('gcra: how many units may pass at once; the amount by default.')

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
const limitFields = {
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
  align: z.enum(['first-hit', 'clock']).optional().describe('fixed-window: where windows start; first-hit by default.'),
  zone: z.string().optional().describe('calendar: an IANA zone such as Europe/Berlin; UTC unless said otherwise.'),
  pace: pace.optional().describe('calendar: spreads the amount over the period.'),
}
const limitSpec: z.ZodType<LimitSpec> = strictObject(
  limitFields,
  'A limit in long form (amount, per) or several in short form (rps, rpm, rph, rpd).',
).meta({ id: 'limit' })

/** The shape of the limits of a rule, a tier or an override. */
export const limitsSpec: z.ZodType<LimitsSpec> = z
  .union([limitSpec, z.array(limitSpec).min(1).max(maxLimitsPerRule), z.enum(['unlimited', 'deny'])])
  .describe('One limit or a list of limits, all checked before any is spent; or unlimited, or deny.')

const selector = z.string().min(1).max(500)
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
          .describe(
            'Look RATE_LIMIT_TIER_<ID> up, then RATE_LIMIT_TIER, where a text replaces the prefix; false by default.',
          ),
        lookup: label
          .optional()
          .describe(
            'A function (createLimiter lookups) or table (sluice serve --lookup) that knows the tier of an id.',
          ),
        default: z.string().optional().describe('The tier of an id that is not known.'),
      },
      'How the tier of a request is found.',
    ),
  ])
  .describe('A selector that yields the name of a tier, or how an id is looked up.')

const tierLimits: z.ZodType<TierLimitsSpec> = z.union([
  limitsSpec,
  strictObject(
    {
      extends: label.describe('A tier whose limits it has as well.'),
      ...limitFields,
      limits: z
        .union([limitSpec, z.array(limitSpec).min(1).max(maxLimitsPerRule)])
        .optional()
        .describe('Limits of its own, where there are several.'),
    },
    'The limits of another tier, and in their place or beside them its own.',
  ),
])
const tiers = z.record(label, tierLimits)

const costMap = strictObject(
  {
    by: selector.describe('A selector that yields the kind of the request, such as body.model.'),
    map: z.record(z.string(), units).describe('From a value to what it costs.'),
    default: units.optional().describe('What any other value costs; 1 unless said otherwise.'),
  },
  'What a request costs by its kind.',
)

const time = z.string({ error: 'say the unit: "15m" for minutes' })
const block = strictObject(
  {
    after: z.int().min(1).max(1_000_000).optional().describe('So many of them lead to a block; 1 by default.'),
    within: time.optional().describe('From the first of them on, such as 1m; a day by default.'),
    for: time.describe('How long the first block is, such as 15m.'),
    grow: z
      .number()
      .min(1)
      .max(100)
      .optional()
      .describe('Each block is so many times as long as the last; 1 by default.'),
    max: time.optional().describe('The longest block; a day by default.'),
    count: z
      .enum(['denials', 'charges'])
      .optional()
      .describe('denials, or charges: requests that are charged by their outcome; denials by default.'),
  },
  'After so many denials, or charges, nothing passes for a while.',
)

const delay = strictObject(
  {
    after: units.describe("So many units of the rule's first limit pass at once."),
    each: time.describe('How much longer each unit beyond them waits, such as 200ms.'),
    max: time.optional().describe('The longest delay; 10s by default.'),
  },
  'Slows requests down before they are denied.',
)

const percentage = 'use a whole percentage from 0% to 100%, such as 70%'
const shares = strictObject(
  {
    by: selector.describe('A selector that yields the class of the request, such as context.class.'),
    of: z
      .record(label, z.string({ error: percentage }).regex(/^(?:100|\d{1,2})%$/, percentage))
      .describe('What each class is guaranteed, such as { prod: 70%, dev: 30% }; at most 100% together.'),
    default: label.describe('The class of requests whose own is missing or not listed.'),
  },
  'Guarantees classes of requests a part of the one limit; what a class leaves, others may use.',
)

const callable = z.custom<never>((value) => typeof value === 'function')

// Functions can stand in a policy that is written in code, never in a document; editors get the schema without them.
function schemaOf(inCode: boolean): {
  document: z.ZodType<PolicyDocument>
  rule: z.ZodType<RuleSpec>
  override: z.ZodType<OverrideSpec>
  lists: z.ZodType<NonNullable<PolicyDocument['lists']>>
  ruleFields: Readonly<Record<string, z.ZodType>>
} {
  const parts = z
    .array(selector)
    .min(1)
    .max(maxParts - 1)
  const alternative = inCode ? z.union([selector, parts, callable]) : z.union([selector, parts])
  const description = z.string().max(1000).optional().describe('For people; it changes nothing.')
  const moment = z.union(inCode ? [z.string(), z.number(), z.date()] : [z.string(), z.number()]).optional()
  const override = strictObject(
    {
      description,
      // The list first: most overrides have one, and a union tries its forms in order.
      key: z.union([z.array(part).min(1).max(maxParts), part]).describe('The key, or how it begins: acme-*.'),
      limits: limitsSpec,
      from: moment.describe('From when it holds; always by default.'),
      until: moment.describe(
        'Until when it holds: an ISO date, a time with a zone, or milliseconds since 1970; always by default.',
      ),
    },
    'Other limits for one key, or for all that begin alike (acme-*); they replace those of the rule and of the tier.',
  )
  const entry = strictObject(
    {
      description,
      value: part.describe('A key, a prefix or a network.'),
      from: moment.describe('From when it is in the list; always by default.'),
      until: moment.describe('Until when it is in the list; always by default.'),
    },
    'An entry with a term.',
  )
  const lists = z.record(label, z.array(z.union([part, entry])))
  const ruleFields = {
    name: label.describe('Names the rule in decisions, metrics and keys. Unique in the policy.'),
    description,
    from: moment.describe('From when the rule is in force; always by default.'),
    until: moment.describe('Until when the rule is in force; always by default.'),
    match: matchSchema.optional(),
    key: z
      .union([
        alternative,
        strictObject(
          { first: z.array(alternative).min(1).max(16).describe('Keys in their order.') },
          'The first key the request has.',
        ),
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
    overrides: z.array(override).optional().describe('Other limits for some keys.'),
    cost: (inCode ? z.union([units, selector, costMap, callable]) : z.union([units, selector, costMap]))
      .optional()
      .describe(
        'Units one request spends: a number, a selector such as body.tokens ?? 1, or { by, map, default }; 1 by default.',
      ),
    algorithm: algorithm.optional(),
    burst: burst.optional(),
    onStoreFailure: z
      .enum(['open', 'closed', 'local', 'recount'])
      .optional()
      .describe('What if the store cannot decide; open by default.'),
    mode: z
      .enum(['enforce', 'shadow'])
      .optional()
      .describe('shadow: decide and count, but never deny; enforce by default.'),
    answer: strictObject(
      {
        status: z
          .int()
          .min(400)
          .max(599)
          .optional()
          .describe('The status of the response; 429 for a limit and 403 for deny by default.'),
        title: z.string().min(1).max(200).optional().describe('What happened, in a few words.'),
        detail: z.string().min(1).max(1000).optional().describe('What the client should know or do.'),
      },
      'What a client is told when the rule refuses it.',
    ).optional(),
    block: block.optional(),
    delay: delay.optional(),
    shares: shares.optional(),
    lease: z.boolean().optional().describe('Draw units ahead of use and spend them locally; false by default.'),
    envoy: strictObject(
      {
        quota: z.boolean().optional().describe('Deny a request only if it is over all its limits that say so.'),
        replaces: z
          .array(label)
          .optional()
          .describe('Rules by name that are not charged for a request with a descriptor of this rule.'),
      },
      "What a rule with the method RLS means to the other descriptors of one of Envoy's requests.",
    ).optional(),
  }
  const rule = strictObject(ruleFields, 'Which requests, whose bucket, and how much.')
  const document = strictObject(
    {
      $schema: z.string().optional().describe('Where editors find the schema.'),
      service: z.string().min(1).max(200).describe('The service this policy is for.'),
      description,
      version: z
        .union([z.string().min(1).max(100), z.number()])
        .optional()
        .describe('What decisions and reports call this version; a hash of the document by default.'),
      tiers: tiers
        .optional()
        .describe('Limits by tier. Built in: free 100, standard 1000, enterprise 10000 per minute.'),
      lists: lists
        .optional()
        .describe('Keys, prefixes (acme-*) and networks by the name of their list; conditions say { in: name }.'),
      rules: z.array(rule).min(1).optional().describe('How much may come in. A policy has rules, upstreams or both.'),
      capacity: capacitySchema.optional(),
      upstreams: z.array(upstreamSchema).min(1).max(1000).optional().describe('How much may go out to each vendor.'),
    },
    'How much may flow through one service.',
  )
  return { document, rule, override, lists, ruleFields }
}

const inCode = schemaOf(true)

/** The one schema of policy documents. */
export const policySchema: z.ZodType<PolicyDocument> = inCode.document

/** The shape of one rule. */
export const ruleSchema: z.ZodType<RuleSpec> = inCode.rule

/** The shape of one override. */
export const overrideSchema: z.ZodType<OverrideSpec> = inCode.override

/** The shape of lists. */
export const listsSchema: z.ZodType<NonNullable<PolicyDocument['lists']>> = inCode.lists

/** The shape of tiers. */
export const tiersSchema: z.ZodType<Readonly<Record<string, TierLimitsSpec>>> = tiers

/** The shape of each field of a rule. */
export const ruleFields: Readonly<Record<string, z.ZodType>> = inCode.ruleFields

/** The JSON Schema of policy documents, for editors. */
export function policyJsonSchema(): object {
  const { $schema, ...rest } = z.toJSONSchema(schemaOf(false).document, { io: 'input', override: describeStrict })
  return { $schema, title: 'Sluice policy', ...rest }
}
