import * as z from 'zod'
import { maxUnits } from '../../../core/algorithms/limit.ts'
import { maxLimitsPerRule } from '../../../core/engine/limit-set.ts'
import type { UpstreamSpec } from '../upstream-spec.ts'
import { strictObject } from './strict-object.ts'

const units = z.int().min(1).max(maxUnits)
const count = z.int().min(1).max(1_000_000)
const duration = z.union([z.string(), z.number()])
const label = z
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
    unit: label.optional().describe('requests unless said otherwise; other units are what cost and settle report.'),
  },
  'A limit on any rolling period: it has no algorithm, no burst and no alignment.',
)

/** The shape of each field of an upstream. */
const upstreamFields = {
  name: label.describe('Names the upstream in metrics, keys and the path of the proxy. Unique in the policy.'),
  origin: z.string().max(2000).describe('Scheme and host, optionally with a path prefix.'),
  limits: z
    .union([limit, z.array(limit).min(1).max(maxLimitsPerRule)])
    .optional()
    .describe('One limit or a list of limits. All of them are checked as one step.'),
  bound: z
    .enum(['strict', 'estimated'])
    .optional()
    .describe('strict holds at the vendor; estimated paces with a margin.'),
  spacing: z
    .enum(['even', 'burst'])
    .optional()
    .describe('estimated: calls evenly spaced, or at once while there is room.'),
  concurrency: z
    .union([
      z.int().min(1).max(10_000),
      strictObject(
        { adaptive: z.literal(true), initial: count.optional(), min: count.optional(), max: count.optional() },
        'Calls in flight, following the latency of the vendor.',
      ),
    ])
    .optional()
    .describe('Most calls in flight.'),
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
          attempts: z.int().min(1).max(10).optional(),
          base: duration.optional(),
          max: duration.optional(),
          budgetPercent: z.number().min(0).max(100).optional(),
          floorPerSecond: z.number().min(0).max(1000).optional(),
        },
        'How failed calls are repeated.',
      ),
    ])
    .optional(),
  breaker: z
    .union([
      z.literal(false),
      strictObject(
        { failures: count.optional(), cooldown: duration.optional() },
        'When to stop calling a vendor that keeps failing.',
      ),
    ])
    .optional(),
  onStoreFailure: z.enum(['open', 'closed', 'local']).optional().describe('What if the store cannot book.'),
  vendor: label.optional().describe('How the vendor reports its limits, such as openai, anthropic or github.'),
  weights: z.record(z.string(), z.number().min(0.001).max(1000)).optional().describe('Shares of tenants.'),
} as const

/** The shape of one upstream. */
export const upstreamSchema: z.ZodType<UpstreamSpec> = strictObject(
  upstreamFields,
  'A vendor that this service calls, and how much of it all replicas may use.',
)
