import type { AuditCase } from './audit-case.ts'

const lib = 'packages/sluice/src'
const reading = `${lib}/testing/http-cases/reading.ts`
const answers = `${lib}/testing/http-cases/answers.ts`
const mistakes = `${lib}/policy/compile/mistakes.test.ts`
const memory = `${lib}/stores/memory/memory-store.test.ts`
const replies = `${lib}/stores/redis/redis-replies.test.ts`
const stored = `${lib}/stores/redis/stored-values.test.ts`
const holding = `${lib}/testing/store-cases/holding.ts`
const mixing = `${lib}/testing/store-cases/mixing.ts`
const daemon = 'packages/server/src'
const auth = `${daemon}/http/auth.test.ts`
const badInput = `${daemon}/http/bad-input.test.ts`
const envoy = `${daemon}/envoy/envoy.test.ts`
const serve = `${daemon}/cli/serve/serve.e2e.test.ts`
const cli = `${daemon}/cli/cli.e2e.test.ts`

/** S, O: the daemon. W, U: under faults. The low ones have no number. */
export const operationCases: Readonly<Record<string, AuditCase>> = {
  S1: {
    found: 'admin routes behind a default nginx',
    tests: [[`${daemon}/http/access/access.test.ts`, 'a default nginx in front opens nothing']],
  },
  S2: {
    found: 'clients choose the path',
    tests: [
      [auth, 'by headers of the other family'],
      [auth, 'a contradiction is refused'],
    ],
  },
  S3: { found: '//login', tests: [[auth, 'a target that reads like a host']] },
  S4: { found: 'empty descriptor values', tests: [[envoy, 'an empty value is a value like any other']] },
  S5: {
    found: 'dry runs that push',
    tests: [
      [`${daemon}/http/api.test.ts`, 'dryRun'],
      [badInput, 'nothing unknown is ignored'],
    ],
  },
  S6: {
    found: 'wildcards imported as literals',
    tests: [[`${daemon}/envoy/import-envoy.test.ts`, 'a key has no star']],
  },
  S7: {
    found: 'Forwarded from a client',
    tests: [
      [`${daemon}/http/forwarded-by.test.ts`, 'must be one of the headers'],
      [`${daemon}/proxies.test.ts`, 'a client cannot choose its address'],
    ],
  },
  O1: { found: 'SIGHUP ends the daemon', tests: [[serve, 'reads tokens again at SIGHUP']] },
  O2: { found: 'a wrong Redis password is silent', tests: [[serve, 'does not start with a wrong password']] },
  O3: {
    found: 'pushing to a read-only file',
    tests: [[`${daemon}/http/routes/policy/read-only-policy.test.ts`, 'pushing to it is a conflict']],
  },
  O4: { found: 'another port, silently', tests: [[serve, 'a port it was told to take is taken']] },
  O5: {
    found: 'DATABASE_URL out of reach',
    tests: [
      [serve, 'the example stands in'],
      [`${daemon}/config/config.test.ts`, 'an optional place for a policy'],
    ],
  },
  O6: {
    found: 'no authentication of decisions',
    tests: [
      [`${daemon}/http/access/access.test.ts`, 'with a decide token'],
      [`${daemon}/tls.test.ts`, 'an authority for clients'],
    ],
  },
  O7: { found: 'mistyped variables', tests: [[serve, 'there is no such variable']] },
  O8: { found: 'recipes for proxies', tests: [[`${daemon}/proxies.test.ts`, 'limits, says how long to wait']] },
  O9: { found: 'the first line of serve --json', tests: [[serve, 'as the first line with --json']] },
  O10: { found: 'top shows bounds as facts', tests: [[`${daemon}/cli/top/top.test.ts`, 'never shows as a fact']] },
  O11: {
    found: 'doctor says all is well',
    tests: [
      [cli, 'enforces another version, or counts elsewhere'],
      [cli, 'its keys, its credentials'],
    ],
  },
  O12: { found: 'faults instead of messages', tests: [[serve, 'percent-encode']] },
  O13: { found: 'two lines every 250 ms', tests: [[`${daemon}/log/log.test.ts`, 'an outage is two lines']] },
  O14: { found: 'unknown fields in a request', tests: [[badInput, 'an unknown field in a request']] },
  O15: { found: 'inspect with Redis away', tests: [[cli, 'inspect ends with 3, and nobody who may only decide']] },
  W1: {
    found: 'two versions switch a limit off',
    tests: [
      [mixing, 'limits that take turns on a subject'],
      [`${lib}/stores/memory/mixed-limits.test.ts`, 'limit sets that take turns'],
    ],
  },
  W2: {
    found: 'a planned failover',
    tests: [
      [`${lib}/stores/redis/redis-sentinel.test.ts`, 'leaves the old master'],
      ['test/chaos/faults/planned.ts', 'sentinel-planned-'],
    ],
  },
  W3: { found: 'closing while connecting', tests: [['test/chaos/faults/early-close.ts', 'early-close']] },
  W4: {
    found: 'a wall clock that leaps',
    tests: [[`${lib}/runtime/system-clock.test.ts`, 'a wall clock that is wrong for a moment']],
  },
  W5: {
    found: 'a denial that was overtaken',
    tests: [[`${lib}/stores/local-answers/deny-cache.test.ts`, 'has overtaken']],
  },
  W6: {
    found: 'a damaged value',
    tests: [
      [stored, 'nobody else notices'],
      [stored, 'a reset repairs'],
    ],
  },
  W7: { found: 'killed across slots', tests: [['test/chaos/killed-across-slots.test.ts', 'come back after a minute']] },
  W8: {
    found: 'wrong kinds of failures',
    tests: [
      [replies, 'only the script needs is "auth"'],
      [replies, 'no more clients is "connection"'],
    ],
  },
  W9: { found: 'a wrong reply is sent again', tests: [[replies, 'is a failure, and is not sent again']] },
  W10: {
    found: 'a lease outlives its window',
    tests: [[`${lib}/stores/local-answers/suspended.test.ts`, 'when the machine was suspended']],
  },
  W11: {
    found: 'retryAfterMs by a clock that is behind',
    tests: [[stored, 'by the clock of a master that is behind']],
  },
  U1: { found: 'eviction of what has nothing left', tests: [[memory, 'although it was not denied yet']] },
  U2: { found: 'a full store reports ok', tests: [[memory, 'is not well while it refuses new subjects']] },
  U3: { found: 'memory never shrinks', tests: [[memory, 'empties itself when nobody asks']] },
  U4: {
    found: 'refunds into the next window',
    tests: [[`${lib}/limiter/refunding.test.ts`, 'gives back nothing to the next one']],
  },
  U5: {
    found: 'an id used twice',
    tests: [
      [holding, 'the same hold asked for twice is taken once'],
      [holding, 'after it was settled or cancelled'],
    ],
  },
  U6: { found: 'replies while the loop was blocked', tests: [[replies, 'blocked beyond the deadline still count']] },
  U7: {
    found: 'eviction by Redis',
    tests: [[`${lib}/stores/redis/eviction-watch.test.ts`, 'is noticed at the next look']],
  },
  U8: {
    found: 'another period starts from zero',
    tests: [[`${lib}/stores/memory/mixed-limits.test.ts`, 'starts unused']],
  },
  U9: {
    found: 'a node that joins a cluster can open the breaker for a moment',
    tests: [['test/chaos/faults/cluster.ts', 'cluster-']],
    decided: 'Failures of a node that is not ready are failures; the breaker tries again within a quarter of a second.',
  },
  U10: { found: 'Redis ahead and back', tests: [[stored, 'cannot be made to run backwards']] },
  U11: {
    found: 'a doubled reply shifts all that follow',
    tests: [],
    decided: 'No Redis and no TCP makes one, and ioredis has no way to notice it.',
  },
  'low: preflights': {
    found: 'what is no preflight passes as one',
    tests: [[answers, 'What no browser sends as a preflight']],
  },
  'low: upgrades': {
    found: 'WebSockets are not seen',
    tests: [[`${lib}/http/node/upgrades.test.ts`, 'as the docs show']],
  },
  'low: keys': {
    found: 'numbers and promises as keys',
    tests: [[reading, 'takes keys from functions that are numbers']],
  },
  'low: dates': { found: 'impossible dates', tests: [[mistakes, '2027-02-31']] },
  'low: per': { found: 'per: 60 is milliseconds', tests: [[mistakes, 'say the unit: "60s" for seconds']] },
  'low: 405': {
    found: '404 for a wrong method',
    tests: [[badInput, 'another method is answered with those there are']],
  },
  'low: logs': { found: 'levels and times as numbers', tests: [[`${daemon}/log/log.test.ts`, 'the time of RFC 3339']] },
  'low: rebinding': {
    found: 'DNS rebinding reaches decisions',
    tests: [[`${daemon}/http/access/access.test.ts`, 'was pointed at this machine']],
  },
}
