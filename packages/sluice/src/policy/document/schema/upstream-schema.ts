import * as z from 'zod'
import { maxUnits } from '../../../core/algorithms/limit.ts'
import { maxLimitsPerRule } from '../../../core/engine/limit-set.ts'
import type { UpstreamSpec } from '../upstream-spec.ts'
import { strictObject } from './strict-object.ts'

const units = z.int().min(1).max(maxUnits)
const count = z.int().min(1).max(1_000_000)
const duration = z.union([z.string(), z.number()])
export const label: z.ZodString = z
  .string()
  .regex(/^[A-Za-z0-9][\w.:-]{0,63}$/, 'use up to 64 letters, digits and _ . : -, beginning with a letter or digit')

const limit = strictObject(
  {
    rps: units.optional().describe('Units in any second.'),
    rpm: units.optional().describe('Units in any minute.'),
    rph: units.optional().describe('Units in any hour.'),
    rpd: units.optional().describe('Units in any 24 hours.'),
    amount: units.optional().describe('Units in any period.'),
    per: duration.optional().describe('The period: 500ms, 30s, 15m, 1h30m, 1d.'),
    name: label.optional().describe('What metrics and errors call the limit.'),
    unit: label.optional().describe('What is counted: requests, or what cost and settle report; requests by default.'),
  },
  'A limit on any rolling period: it has no algorithm, no burst and no alignment.',
)

/** The shape of each field of an upstream. */
const upstreamFields = {
  name: label.describe('Names the upstream in metrics, keys and the path of the proxy. Unique in the policy.'),
  origin: z
    .string()
    .max(2000)
    .optional()
    .describe('Scheme and host, optionally with a path prefix. Left out: called with egress.run only.'),
  limits: z
    .union([limit, z.array(limit).min(1).max(maxLimitsPerRule)])
    .optional()
    .describe('One limit or a list of limits. All of them are checked as one step.'),
  arrival: duration
    .optional()
    .describe(
      'How long a written request may be on its way: a duration, auto (from handshakes) or response; auto by default.',
    ),
  afterLoss: z
    .enum(['pace', 'wait'])
    .optional()
    .describe('What holds for one period after shared state was lost and no process knew it; pace by default.'),
  account: label.optional().describe('Services with the same account at the vendor share its limits.'),
  concurrency: z
    .int()
    .min(1)
    .max(10_000)
    .optional()
    .describe('Most calls in flight on all replicas; no limit by default.'),
  maxWait: duration.optional().describe('Longest wait of a call for its grant; 60s by default.'),
  maxQueue: z.int().min(0).max(1_000_000).optional().describe('Most calls that wait, on all replicas together.'),
  maxQueuePerTenant: count.optional().describe('Most calls of one tenant that wait.'),
  timeout: duration.optional().describe('Longest time to the first byte of a response; 60s by default.'),
  maxPause: duration.optional().describe('Longest pause that a vendor can cause; 15m by default.'),
  retry: z
    .union([
      z.literal(false),
      strictObject(
        {
          attempts: z.int().min(1).max(10).optional().describe('Most attempts, with the first; 3 by default.'),
          base: duration.optional().describe('The wait before the second attempt; 250ms by default.'),
          max: duration.optional().describe('The longest wait; 10s by default.'),
          budgetPercent: z
            .number()
            .min(0)
            .max(100)
            .optional()
            .describe('Retries, in percent of the calls; 10 by default.'),
          floorPerSecond: z
            .number()
            .min(0)
            .max(1000)
            .optional()
            .describe('Retries a second that are always allowed; 1 by default.'),
        },
        'How failed calls are repeated.',
      ),
    ])
    .optional()
    .describe('How failed calls are repeated, or false.'),
  breaker: z
    .union([
      z.literal(false),
      strictObject(
        {
          failures: count.optional().describe('So many failures in a row open it; 20 by default.'),
          cooldown: duration.optional().describe('How long it stays open; 5s by default.'),
        },
        'When to stop calling a vendor that keeps failing.',
      ),
    ])
    .optional()
    .describe('When to stop calling a vendor that keeps failing; false by default.'),
  onStoreFailure: z
    .enum(['open', 'closed', 'local'])
    .optional()
    .describe('What if the store cannot book; closed by default.'),
  vendor: label.optional().describe('How the vendor reports its limits, such as openai, anthropic or github.'),
  weights: z
    .record(z.string(), z.number().min(0.001).max(1000))
    .optional()
    .describe('Shares of tenants; 1 each by default.'),
} as const

/** The shape of one upstream. */
export const upstreamSchema: z.ZodType<UpstreamSpec> = strictObject(
  upstreamFields,
  'A vendor that this service calls, and how much of it all replicas may use.',
)
