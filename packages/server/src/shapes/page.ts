import * as z from 'zod'
import { count, flag, number, numberOrNull, object, type Shape, text, textOrNull, wholeOrNull } from './parts.ts'
import { type PolicyOutcome, PolicyStatus } from './policy.ts'
import { HotKey, StoreStatus } from './stats.ts'

const wrongSecret = 'must be the code or the token: {"secret": "..."}'
export const SignIn = object({
  secret: z.string({ error: wrongSecret }).min(1, { error: wrongSecret }).max(1000, { error: wrongSecret }),
})
export const Session = object({
  signedIn: flag,
  endsAt: wholeOrNull,
  name: textOrNull.meta({ description: 'Whose token it was.' }),
  role: z.enum(['admin', 'read']).nullable(),
  secure: flag.meta({ description: 'Whether the request came over TLS, to the daemon or to a proxy that says so.' }),
})
export const SessionCode = object({ code: text, expiresInMs: count })

export const Overview = object({
  service: text,
  uptimeSeconds: count,
  deadlineMs: count,
  policy: object({ ...PolicyStatus.shape, writable: flag }),
  store: object({
    ...StoreStatus.shape,
    roundTripP99Ms: numberOrNull,
    decisionsPerCall: numberOrNull,
    answeredLocally: numberOrNull,
  }),
  latency: object({ p50Ms: numberOrNull, p99Ms: numberOrNull }),
  outage: object({ since: number, failure: text, message: text, decisions: count }).nullable(),
  refused: object({
    keys: z.array(object({ key: text, rule: text, perSecond: number, limit: textOrNull, passesInMs: numberOrNull })),
    seen: count,
  }),
  replicas: z.array(
    object({
      replica: text,
      host: text,
      pid: count,
      isShown: flag,
      ageMs: number,
      policyVersion: textOrNull,
      breaker: textOrNull,
    }),
  ),
  complete: flag,
  historyUrl: textOrNull.meta({ description: 'Where older figures are, as the daemon was told.' }),
})

const step = z.tuple([count, count, count])
const ruleSummary = {
  name: text,
  mode: z.enum(['enforce', 'shadow']),
  byTier: flag,
  limits: z.array(object({ name: text, algorithm: text, amount: number, periodMs: number })),
  history: z.array(step).meta({
    description: 'Allowed, denied, and what a shadow rule would have denied, in steps of stepMs, the oldest first.',
  }),
  allowed: count,
  denied: count,
  shadow: object({ allowed: count, denied: count }),
  hottestKey: HotKey.nullable(),
  mostDeniedKey: HotKey.nullable(),
  keysAlike: object({ hottest: flag, mostDenied: flag }).meta({
    description:
      'Whether keys were seen, or denied, of which none stands out: then there is no hottest, or most denied.',
  }),
}
export const Rules = object({ service: text, stepMs: count, replicas: count, rules: z.array(object(ruleSummary)) })
const denial = object({
  id: text.meta({ description: 'That of a process which reports stays the same when this daemon is restarted.' }),
  at: number.meta({ description: 'Milliseconds since the epoch.' }),
  rule: text,
  key: text,
  reason: text,
  limit: textOrNull,
  retryAfterMs: numberOrNull,
  cost: number,
  replica: textOrNull.meta({ description: 'The process that denied it; null for this daemon.' }),
})
export const RuleDetails = object({
  ...ruleSummary,
  stepMs: count,
  match: z.unknown(),
  key: z.unknown(),
  tier: z.unknown(),
  onStoreFailure: text,
  keysOverMs: number,
  hottest: z.array(HotKey),
  mostDenied: z.array(HotKey),
  fullness: object({ bins: z.array(count), looked: count, seen: count, isSample: flag }),
  denials: z.array(denial),
})
export const Denials = object({
  denials: z.array(denial).meta({ description: 'The newest first, of all processes that report.' }),
  next: text.meta({ description: 'What to give as after next time.' }),
  missed: count.meta({
    description: 'How many came since after and are not listed: beyond limit, or not kept any more.',
  }),
})

export type Overview = Shape<typeof Overview>
export type Rules = Shape<typeof Rules>
export type RuleDetails = Shape<typeof RuleDetails>
export type RuleSummary = Rules['rules'][number]
export type RuleLimit = RuleSummary['limits'][number]
export type Denials = Shape<typeof Denials>
export type Step = Shape<typeof step>
export type Denial = RuleDetails['denials'][number]

/** The decisions of one second, of all processes that report. A later entry of the same second takes its place. */
export interface SecondEntry {
  readonly kind: 'second'
  /** Seconds since 1970. */
  readonly at: number
  readonly allowed: number
  readonly denied: number
  readonly degraded: number
  readonly p50Ms: number | null
  readonly p99Ms: number | null
  readonly replicas: number
}
/** Something that happened; `at` is in seconds since 1970, with a fraction. */
export type HappeningEntry =
  | {
      readonly kind: 'policy'
      readonly at: number
      readonly version: string
      readonly source: string
      readonly changes: PolicyOutcome['changes']
    }
  | { readonly kind: 'policy-rejected'; readonly at: number; readonly source: string; readonly message: string }
  | { readonly kind: 'degraded'; readonly at: number; readonly failure: string; readonly message: string }
  | { readonly kind: 'exact-again'; readonly at: number; readonly since: number; readonly decisions: number }
export type LiveEntry = SecondEntry | HappeningEntry
/** Which daemon sends the stream of /v1/live. */
export interface Hello {
  readonly epoch: string
  readonly replica: string
  readonly service: string
  readonly resumed: boolean
  readonly startedAt: number
}
export type Session = Shape<typeof Session>
