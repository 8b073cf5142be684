import { pageSchemas } from './page-schemas.ts'
import { count, flag, list, object, orNull, ref, type Schema, text, units } from './schema-parts.ts'

const key: Schema = {
  description: 'A key: a text, or a list of parts.',
  oneOf: [text, { type: 'array', items: { type: ['string', 'number', 'boolean'] }, minItems: 1, maxItems: 32 }],
}
const cost: Schema = {
  type: 'integer',
  minimum: 0,
  description: 'Units to spend; 1, or what the policy says, unless given.',
}
const byKey = {
  key,
  rule: { ...text, description: 'May be left out when the policy has only one rule.' },
  tier: text,
  cost,
}
const keyOrRequest: Schema = { oneOf: [{ required: ['key'] }, { required: ['request'] }] }
const subject = { ...byKey, request: ref('Request') }
const subjectFields = Object.keys(subject)
const namedChanges = { added: list(text), removed: list(text), changed: list(text) }
const tally = { allowed: count, denied: count, degraded: count }

export const schemas: Readonly<Record<string, Schema>> = {
  ...pageSchemas,
  Request: object(
    {
      method: { ...text, default: 'GET' },
      path: { ...text, default: '/', description: 'May carry the query.' },
      route: text,
      headers: { type: 'object', additionalProperties: { oneOf: [text, list(text)] } },
      query: { type: 'object' },
      body: {},
      ip: text,
    },
    ['method', 'path', 'route', 'headers', 'query', 'body', 'ip'],
    { description: 'A request as rules see it.' },
  ),
  Check: object({ ...subject, mirror: flag }, [...subjectFields, 'mirror'], keyOrRequest),
  Checks: object({ checks: { type: 'array', items: ref('Check'), minItems: 1, maxItems: 1000 } }),
  Limit: object(
    {
      rule: text,
      name: text,
      amount: count,
      remaining: count,
      windowMs: { ...count, description: '0 for a limit on what is in flight.' },
      resetMs: count,
      retryAfterMs: { ...orNull('integer'), description: 'null: never.' },
      pace: ref('Pace'),
    },
    ['pace'],
  ),
  Pace: object({ planned: count, spent: count, burst: count }, [], {
    description: 'Where a paced limit stands on its curve.',
  }),
  Decision: object({
    allowed: flag,
    reason: { enum: ['allowed', 'quota', 'unavailable', 'missing-key'] },
    rule: orNull('string'),
    retryAfterMs: { ...orNull('integer'), description: 'null: never.' },
    by: {
      enum: ['store', 'lease', 'deny-cache', 'local', 'recount', 'open', 'closed', 'policy'],
      description: 'What decided; policy when no rule applied or a key was missing.',
    },
    degraded: { ...flag, description: "Decided without the store, by the rules' onStoreFailure." },
    failure: orNull('string'),
    policyVersion: text,
    limits: list(ref('Limit')),
    shadow: list(object({ rule: text, allowed: flag, limits: list(ref('Limit')) })),
  }),
  Decisions: object({
    decisions: list({
      oneOf: [ref('Decision'), object({ error: object({ status: count, detail: text, code: text }, ['code']) })],
    }),
  }),
  Reserve: object(
    {
      ...subject,
      id: text,
      ttlMs: { type: 'integer', minimum: 1 },
      kind: { enum: ['reserve', 'acquire'], default: 'reserve' },
    },
    [...subjectFields, 'id', 'ttlMs', 'kind'],
    keyOrRequest,
  ),
  Hold: object({ id: text, allowed: flag, decision: ref('Decision') }),
  Settle: object({ ...subject, id: text, actual: units }, subjectFields, keyOrRequest),
  Settled: object({ settled: flag }),
  Problem: {
    type: 'object',
    description: 'RFC 9457.',
    properties: {
      type: text,
      title: text,
      status: count,
      detail: text,
      code: text,
      issues: list(
        object({ path: text, message: text, value: {}, range: ref('TextRange') }, ['value', 'range'], {
          description: 'One mistake in a policy: what stands there, what would be right, and where in the text it is.',
        }),
      ),
    },
    required: ['type', 'title', 'status'],
  },
  TextRange: object({ line: count, column: count, endLine: count, endColumn: count }, [], {
    description: 'A place in a text. Lines and columns begin with 1; the end is exclusive.',
  }),
  Inspection: object({
    key: text,
    rule: text,
    limits: list(ref('Limit')),
    holds: list(object({ id: text, cost: count, expiresInMs: { type: 'integer' } })),
    explanation: text,
    written: { description: 'The limits of the rule as the policy writes them; null where only tiers have some.' },
    override: { description: 'The override that the policy has for this key, also an expired one; null for none.' },
  }),
  Reset: object({ reset: flag, key: text, stored: flag }),
  Explain: object({ request: ref('Request'), key, rule: byKey.rule }, ['request', 'key', 'rule'], keyOrRequest),
  Explanation: object({
    service: text,
    policyVersion: text,
    rules: list(
      object({
        rule: text,
        mode: { enum: ['enforce', 'shadow'] },
        matched: flag,
        why: text,
        key: orNull('string'),
        tier: orNull('string'),
        cost: orNull('integer'),
        limits: list(ref('Limit')),
      }),
    ),
    decision: ref('Decision'),
  }),
  PolicyStatus: object({ version: text, ageMs: count, source: text, lastError: orNull('string') }),
  Policy: object({
    service: text,
    version: text,
    ageMs: count,
    source: text,
    lastError: orNull('string'),
    rules: list(text),
    upstreams: list(text),
    writable: flag,
    readOnly: { ...orNull('string'), description: 'Why a policy cannot be pushed; null when it can.' },
    revision: orNull('integer'),
    document: { description: 'The newest document, as it was written; null when the source keeps none.' },
    text: { ...orNull('string'), description: 'The document as text to edit: as it was written, or as YAML.' },
  }),
  PolicyOutcome: object(
    {
      valid: { const: true },
      service: text,
      version: text,
      inForce: { ...text, description: 'The version in force when this was asked.' },
      rules: list(text),
      upstreams: list(text),
      warnings: list(text),
      changes: {
        oneOf: [object({ ...namedChanges, tiers: flag, upstreams: object(namedChanges) }), { type: 'null' }],
      },
      differences: {
        description: 'Rules go by their names and overrides by their keys. At most 200; null without a document.',
        oneOf: [list(ref('Difference')), { type: 'null' }],
      },
      pushed: flag,
      revision: count,
      rolledBackTo: count,
      until: { ...text, format: 'date-time' },
    },
    ['pushed', 'revision', 'rolledBackTo', 'until'],
  ),
  Difference: object({ path: text, kind: { enum: ['added', 'removed', 'changed'] }, before: {}, after: {} }, [
    'before',
    'after',
  ]),
  Override: object({ limits: { type: ['object', 'array'] }, until: { ...text, format: 'date-time' } }),
  Trial: object({
    version: text,
    inForce: text,
    requests: { ...count, description: 'How many requests were replayed: at most the last 10,000 of this daemon.' },
    fromMs: { ...orNull('integer'), description: 'When the first of them came, in milliseconds since the epoch.' },
    toMs: orNull('integer'),
    deniedThen: { ...count, description: 'How many were denied when they came.' },
    denied: ref('SideBySide'),
    newlyDenied: count,
    newlyAllowed: count,
    rules: list(object({ rule: text, denied: ref('SideBySide'), shadow: ref('SideBySide') })),
    subjects: list(object({ key: text, requests: count, denied: ref('SideBySide') })),
    subjectsDenied: { ...count, description: 'How many keys either policy denies, also beyond those listed.' },
    unknown: {
      ...list(object({ rule: text, field: text, requests: count })),
      description: 'Fields that the tried policy reads and that were not kept, so that rules may have been skipped.',
    },
    notes: list(text),
  }),
  SideBySide: object({ running: count, tried: count }, [], {
    description: 'Denials under the policy that runs and under the one that is tried, both with empty counters.',
  }),
  Audit: object({
    entries: list(
      object({
        id: count,
        when: { ...text, format: 'date-time' },
        who: object({ via: { enum: ['token', 'page'] }, address: text }),
        what: { enum: ['key.reset', 'policy.push', 'policy.rollback', 'override.set', 'override.remove'] },
        target: text,
        before: {},
        after: {},
      }),
    ),
  }),
  PolicyVersions: object({ versions: list(object({ revision: count, createdAt: { ...text, format: 'date-time' } })) }),
  PolicyVersion: object({
    revision: count,
    createdAt: { ...text, format: 'date-time' },
    document: {},
    text: orNull('string'),
  }),
  Rollback: object({ revision: count }, ['revision']),
  Report: object({
    v: { const: 1 },
    service: text,
    replica: text,
    host: text,
    pid: count,
    startedAt: { ...count, description: 'Milliseconds since the epoch.' },
    sections: list(object({ kind: text, name: text, stats: {} })),
    omitted: list(text),
  }),
  Received: object({ received: flag }),
  Removed: object({ removed: flag }),
  HotKey: object({ key: text, count, error: { ...count, description: 'The true count is at most this much lower.' } }),
  Stats: object({
    service: text,
    uptimeSeconds: count,
    policy: ref('PolicyStatus'),
    store: object({
      name: text,
      ok: flag,
      reachable: flag,
      roundTripMs: { type: 'number' },
      breaker: { enum: ['closed', 'open', 'half-open'] },
      warnings: list(text),
    }),
    decisions: object(tally),
    recent: { ...list(object(tally)), description: 'The last 60 seconds, the present one last.' },
    hotKeysOverMs: { ...count, description: 'Hot keys are counted over at most this long.' },
    complete: { ...flag, description: 'Whether all reports could be read; otherwise it is what this daemon knows.' },
    replicas: list(
      object({
        replica: text,
        host: text,
        pid: count,
        uptimeSeconds: count,
        ageMs: { ...count, description: 'How old its report is.' },
        parts: list(object({ kind: text, name: text, stats: {} })),
        omitted: list(text),
      }),
    ),
    rules: list(
      object({
        rule: text,
        ...tally,
        shadow: object({ allowed: count, denied: count }),
        keysOverMs: { type: 'number', minimum: 0 },
        hottest: list(ref('HotKey')),
        mostDenied: list(ref('HotKey')),
      }),
    ),
    recounts: {
      ...list(object({ rule: text, allowed: count, denied: count, failed: count, raised: count })),
      description: 'How often the sources of truth of rules with onStoreFailure: recount were asked, by outcome.',
    },
  }),
  Health: object({ status: { const: 'ok' } }),
  Ready: object(
    {
      ready: flag,
      reasons: { ...list(text), description: 'Why it is not ready.' },
      warnings: list(text),
      sources: {
        oneOf: [list(ref('DataSource')), { type: 'null' }],
        description: 'Only with --data-sources. Null while Redis cannot be read.',
      },
    },
    ['sources'],
  ),
  DataSource: object({
    source: { ...text, description: 'namespace/source' },
    stale: flag,
    staleSeconds: { ...orNull('number'), description: 'Null for a source that never reported.' },
    ageSeconds: orNull('number'),
  }),
}
