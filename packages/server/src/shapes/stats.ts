import * as z from 'zod'
import { count, flag, number, numberOrNull, object, type Shape, text } from './parts.ts'
import { PolicyStatus } from './policy.ts'

const tally = { allowed: count, denied: count, degraded: count }
const actions = z.array(text).meta({ description: 'What an operator may have it do.' })
const section = { kind: text, name: text, stats: z.unknown() }
const results = z
  .array(
    object({
      id: text,
      state: z.enum(['running', 'done', 'failed']),
      text: text.meta({ description: 'What it did in short, or the code of the error.' }),
    }),
  )
  .meta({ description: 'What became of the last actions.' })

export const HotKey = object({
  key: text,
  count,
  error: count.meta({ description: 'The true count is at most this much lower.' }),
})
export const Report = object({
  v: z.literal(1),
  service: text,
  replica: text,
  host: text,
  pid: count,
  startedAt: count.meta({ description: 'Milliseconds since the epoch.' }),
  sections: z.array(object({ ...section, actions: actions.optional() })),
  omitted: z.array(text),
  results: results.optional(),
})
const named = text.max(256, { error: 'must have at most 256 characters' })
export const PartAction = object({
  kind: named,
  name: named,
  item: named.optional().meta({ description: 'One of several in the part, such as the key of a breaker.' }),
  action: named,
})
export const Ordered = object({ id: text.meta({ description: 'Its result comes under this id, in Stats.' }) })
export const Received = object({ received: flag })
export const Removed = object({ removed: flag })
export const StoreStatus = object({
  name: text,
  ok: flag,
  reachable: flag,
  roundTripMs: numberOrNull,
  breaker: z.enum(['closed', 'open', 'half-open']),
  warnings: z.array(text),
})
export const Stats = object({
  service: text,
  uptimeSeconds: count,
  policy: PolicyStatus,
  store: StoreStatus,
  decisions: object(tally),
  recent: z.array(object(tally)).meta({ description: 'The last 60 seconds, the present one last.' }),
  hotKeysOverMs: count.meta({ description: 'Hot keys are counted over at most this long.' }),
  complete: flag.meta({ description: 'Whether all reports could be read; otherwise it is what this daemon knows.' }),
  replicas: z.array(
    object({
      replica: text,
      host: text,
      pid: count,
      uptimeSeconds: count,
      ageMs: count.meta({ description: 'How old its report is.' }),
      parts: z.array(object({ ...section, actions })),
      omitted: z.array(text),
      results,
    }),
  ),
  rules: z.array(
    object({
      rule: text,
      ...tally,
      shadow: object({ allowed: count, denied: count }),
      keysOverMs: number.min(0),
      hottest: z.array(HotKey),
      mostDenied: z.array(HotKey),
    }),
  ),
  recounts: z.array(object({ rule: text, allowed: count, denied: count, failed: count, raised: count })).meta({
    description: 'How often the sources of truth of rules with onStoreFailure: recount were asked, by outcome.',
  }),
})

export const Services = object({
  service: text.meta({ description: 'That of this daemon.' }),
  services: z.array(text).meta({
    description: 'All that report or did in the last half minute, that of this daemon among them, by name.',
  }),
  complete: flag.meta({ description: 'Whether all reports could be read.' }),
})

export type HotKey = Shape<typeof HotKey>
export type StoreStatus = Shape<typeof StoreStatus>
export type Stats = Shape<typeof Stats>
export type Services = Shape<typeof Services>
