import * as z from 'zod'
import { count, flag, object, type Shape, text, textOrNull, time, wholeOrNull } from './parts.ts'

const names = z.array(text)
const changed = { added: names, removed: names, changed: names }
const standing = { version: text, ageMs: count, source: text, lastError: textOrNull }
/** A value of any kind that is always there. */
const anything = z.unknown()

export const PolicyStatus = object(standing)
export const Policy = object({
  service: text,
  ...standing,
  rules: names,
  upstreams: names,
  writable: flag,
  readOnly: textOrNull.meta({ description: 'Why a policy cannot be pushed; null when it can.' }),
  revision: wholeOrNull,
  document: anything.meta({ description: 'The newest document, as it was written; null when the source keeps none.' }),
  text: textOrNull.meta({ description: 'The document as text to edit: as it was written, or as YAML.' }),
})
export const Difference = object({
  path: text,
  kind: z.enum(['added', 'removed', 'changed']),
  before: anything.optional(),
  after: anything.optional(),
})
export const PolicyOutcome = object({
  valid: z.literal(true),
  service: text,
  version: text,
  inForce: text.meta({ description: 'The version in force when this was asked.' }),
  rules: names,
  upstreams: names,
  warnings: names,
  changes: object({ ...changed, tiers: flag, upstreams: object(changed) }).nullable(),
  differences: z.array(Difference).nullable().meta({
    description: 'Rules go by their names and overrides by their keys. At most 200; null without a document.',
  }),
  pushed: flag.optional(),
  revision: count.optional(),
  rolledBackTo: count.optional(),
  until: time.optional(),
})
export const Override = object({
  limits: z.union([z.record(z.string(), anything), z.array(anything), z.enum(['unlimited', 'deny'])], {
    error: 'must be limits as in a policy, such as { "rpm": 100 }',
  }),
  until: z
    .string({ error: 'must be a time with a zone, such as "2026-01-31T12:00:00Z"' })
    .meta({ format: 'date-time' }),
})
export const SideBySide = object({ running: count, tried: count }).meta({
  description: 'Denials under the policy that runs and under the one that is tried, both with empty counters.',
})
export const Trial = object({
  version: text,
  inForce: text,
  requests: count.meta({ description: 'How many requests were replayed: at most the last 10,000 of this daemon.' }),
  fromMs: wholeOrNull.meta({ description: 'When the first of them came, in milliseconds since the epoch.' }),
  toMs: wholeOrNull,
  deniedThen: count.meta({ description: 'How many were denied when they came.' }),
  denied: SideBySide,
  newlyDenied: count,
  newlyAllowed: count,
  rules: z.array(object({ rule: text, denied: SideBySide, shadow: SideBySide })),
  subjects: z.array(object({ key: text, requests: count, denied: SideBySide })),
  subjectsDenied: count.meta({ description: 'How many keys either policy denies, also beyond those listed.' }),
  unknown: z.array(object({ rule: text, field: text, requests: count })).meta({
    description: 'Fields that the tried policy reads and that were not kept, so that rules may have been skipped.',
  }),
  notes: names,
})
const version = { revision: count, createdAt: time }
const who = object({ name: text, via: z.enum(['token', 'page']), address: text.optional() })
export const PolicyVersions = object({
  versions: z.array(
    object({
      ...version,
      changes: wholeOrNull.meta({ description: 'How much it changed of the version before; null when none is kept.' }),
      summary: text.meta({ description: 'The first changes, in words.' }),
      who: who.nullable().meta({ description: 'Who pushed it, if that was through this daemon since it started.' }),
    }),
  ),
})
export const PolicyVersion = object({ ...version, document: anything, text: textOrNull })
export const Rollback = object({ revision: count.optional() })
export const Audit = object({
  entries: z.array(
    object({
      id: count,
      when: time,
      who,
      what: z.enum([
        'key.reset',
        'key.block',
        'key.unblock',
        'part.action',
        'policy.push',
        'policy.rollback',
        'override.set',
        'override.remove',
      ]),
      target: text,
      before: anything,
      after: anything,
    }),
  ),
})

export type PolicyStatus = Shape<typeof PolicyStatus>
export type Policy = Shape<typeof Policy>
export type Difference = Shape<typeof Difference>
export type PolicyOutcome = Shape<typeof PolicyOutcome>
export type PolicyVersions = Shape<typeof PolicyVersions>
export type Trial = Shape<typeof Trial>
export type AuditEntry = Shape<typeof Audit>['entries'][number]
