import { count, flag, list, object, orNull, ref, type Schema, text } from './schema-parts.ts'

const number: Schema = { type: 'number' }
const anything: Schema = {}
const keyOrNull: Schema = { oneOf: [ref('HotKey'), { type: 'null' }] }
const ruleSummary: Readonly<Record<string, Schema>> = {
  name: text,
  mode: { enum: ['enforce', 'shadow'] },
  byTier: flag,
  limits: list(object({ name: text, algorithm: text, amount: number, periodMs: number })),
  history: {
    ...list({ type: 'array', items: count, minItems: 3, maxItems: 3 }),
    description: 'Allowed, denied, and what a shadow rule would have denied, in steps of stepMs, the oldest first.',
  },
  allowed: count,
  denied: count,
  shadow: object({ allowed: count, denied: count }),
  hottestKey: keyOrNull,
  mostDeniedKey: keyOrNull,
  keysAlike: {
    ...object({ hottest: flag, mostDenied: flag }),
    description:
      'Whether keys were seen, or denied, of which none stands out: then there is no hottest, or most denied.',
  },
}

/** What the routes of the page take and answer. */
export const pageSchemas: Readonly<Record<string, Schema>> = {
  SignIn: object({ secret: { ...text, minLength: 1, maxLength: 1000 } }),
  Session: object({ signedIn: flag, endsAt: orNull('integer') }),
  SessionCode: object({ code: text, expiresInMs: count }),
  Overview: object({
    service: text,
    uptimeSeconds: count,
    deadlineMs: count,
    policy: object({ version: text, ageMs: count, source: text, lastError: orNull('string'), writable: flag }),
    store: object({
      name: text,
      ok: flag,
      reachable: flag,
      roundTripMs: orNull('number'),
      breaker: text,
      warnings: list(text),
      roundTripP99Ms: orNull('number'),
      decisionsPerCall: orNull('number'),
      answeredLocally: orNull('number'),
    }),
    latency: object({ p50Ms: orNull('number'), p99Ms: orNull('number') }),
    outage: {
      oneOf: [object({ since: number, failure: text, message: text, decisions: count }), { type: 'null' }],
    },
    refused: object({
      keys: list(
        object({
          key: text,
          rule: text,
          perSecond: number,
          limit: orNull('string'),
          passesInMs: orNull('number'),
        }),
      ),
      seen: count,
    }),
    replicas: list(
      object({
        replica: text,
        host: text,
        pid: count,
        isShown: flag,
        ageMs: number,
        policyVersion: orNull('string'),
        breaker: orNull('string'),
      }),
    ),
    complete: flag,
  }),
  Rules: object({ service: text, stepMs: count, replicas: count, rules: list(object(ruleSummary)) }),
  RuleDetails: object({
    ...ruleSummary,
    stepMs: count,
    match: anything,
    key: anything,
    tier: anything,
    onStoreFailure: text,
    keysOverMs: number,
    hottest: list(ref('HotKey')),
    mostDenied: list(ref('HotKey')),
    fullness: object({ bins: list(count), looked: count, isSample: flag }),
    denials: list(
      object({
        at: number,
        key: text,
        reason: text,
        limit: orNull('string'),
        retryAfterMs: orNull('number'),
        cost: number,
      }),
    ),
  }),
}
