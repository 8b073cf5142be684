import type { AuditCase } from './audit-case.ts'

const lib = 'packages/sluice/src'
const reading = `${lib}/testing/http-cases/reading.ts`
const targets = `${lib}/testing/http-cases/targets.ts`
const places = `${lib}/testing/http-cases/places.ts`
const outcomes = `${lib}/testing/http-cases/outcomes.ts`
const fastify = `${lib}/http/fastify/fastify.test.ts`
const mistakes = `${lib}/policy/compile/mistakes.test.ts`
const live = `${lib}/policy/live/followed-policy.test.ts`
const limiter = `${lib}/limiter/limiter.test.ts`
const mixing = `${lib}/testing/store-cases/mixing.ts`

/** A, B: HTTP. H, M: policies. */
export const requestCases: Readonly<Record<string, AuditCase>> = {
  A1: { found: 'a fragment in the target', tests: [[targets, 'however its target is spelt']] },
  A2: { found: 'a reset connection has no ip', tests: [[reading, 'reset their connection no way around']] },
  A3: {
    found: 'no peer address',
    tests: [[`${lib}/http/identity/client-address.test.ts`, 'without an address share one']],
  },
  A4: { found: 'bodies of other types and framings', tests: [[reading, 'whatever its type and framing']] },
  A5: {
    found: 'dot segments',
    tests: [
      [targets, 'however its target is spelt'],
      [targets, 'random targets'],
    ],
  },
  A6: { found: 'a repeated query field', tests: [[reading, 'reads a repeated query field as one']] },
  A7: { found: 'a fragment in the query', tests: [[reading, 'ends the query at a fragment']] },
  A8: { found: 'places of pipelined requests', tests: [[places, 'frees the places of requests that wait behind']] },
  A9: {
    found: 'places of cancelled HTTP/2 streams',
    tests: [[`${lib}/http/http2-places.test.ts`, 'when they are cancelled']],
  },
  A10: {
    found: 'a live policy begins to read bodies',
    tests: [[fastify, 'from the moment on that a live policy asks']],
  },
  A11: { found: 'routes from before the plugin', tests: [[fastify, 'charges routes that were there before it']] },
  A12: {
    found: 'spellings of path as a key',
    tests: [[`${lib}/policy/selector/path-spellings.test.ts`, 'is the same subject as the others']],
  },
  A13: { found: '/login;x', tests: [[`${lib}/policy/selector/path-spellings.test.ts`, '/login;x=1']] },
  A14: { found: 'clients that hang up', tests: [[outcomes, 'gives nothing back to a client that hangs up']] },
  B1: { found: '500 for the first on a concurrency rule', tests: [[places, 'that come in one packet']] },
  B2: {
    found: 'bytes doubled on HTTP/2',
    tests: [[`${lib}/http/node/node-response.test.ts`, 'HTTP/2 are counted once']],
  },
  B3: {
    found: 'headers lost when a Koa handler throws',
    tests: [[`${lib}/http/koa/koa.test.ts`, 'when the handler throws']],
  },
  B4: {
    found: 'key: route before routing',
    tests: [[`${lib}/http/express/express.test.ts`, 'is one bucket for all, never none']],
  },
  B5: { found: 'an example in the docs is refused', tests: [['test/docs-policies.test.ts', 'compile, fragments too']] },
  B6: { found: 'onDenied refuses void', tests: [[`${lib}/http/own-answers.types.test.ts`, 'onDenied']] },
  B7: {
    found: '@nestjs/core is no peer',
    tests: [['test/declared-imports.test.ts', 'the adapter for Nest needs @nestjs/core']],
  },
  B8: { found: 'one warning per guard', tests: [[`${lib}/core/observe/warn-once.test.ts`, 'each adapter warns once']] },
  B9: {
    found: 'one too many after Redis came back empty',
    tests: [[`${lib}/stores/fallback/replicas.test.ts`, 'comes back empty gives nothing beyond']],
  },
  H1: {
    found: 'limit sets erase each other',
    tests: [
      [mixing, 'limits that take turns on a subject'],
      [`${lib}/limiter/tiers-by-turns.test.ts`, 'on Redis'],
    ],
  },
  H2: {
    found: 'a lower revision is dropped silently',
    tests: [
      [live, 'reports a document that is older'],
      [live, 'a restored backup'],
    ],
  },
  H3: {
    found: 'tokens charged to every rule',
    tests: [
      [`${lib}/limiter/settling.test.ts`, 'corrects the rules whose cost was estimated'],
      [outcomes, 'charges tokens to the rule'],
    ],
  },
  H4: { found: 'no rule can apply to requests', tests: [[limiter, 'warns in health once requests are checked']] },
  H5: { found: 'fn: without functions', tests: [[limiter, 'finds keys by functions that the document names']] },
  M1: { found: 'a document of another service', tests: [[live, 'refuses a document of another service']] },
  M2: {
    found: 'a change stream retried for ever',
    tests: [[`${lib}/policy/sources/mongodb/mongodb.test.ts`, 'asks once for a change stream']],
  },
  M3: { found: 'explain contradicts check', tests: [[limiter, 'explains as it decides']] },
  M4: { found: 'fields of the wrong type', tests: [[reading, 'counts what names nobody in one bucket']] },
  M5: { found: 'paths of other routers', tests: [[mistakes, 'of another router']] },
  M6: { found: 'YAML numbers as override keys', tests: [[mistakes, 'the YAML number %s']] },
  M7: {
    found: 'overrides under transforms',
    tests: [
      [mistakes, 'under | lower'],
      [mistakes, 'under | hash'],
    ],
  },
  M8: { found: 'a reload blocks', tests: [['test/policy-reload.test.ts', 'without blocking the process']] },
  M9: { found: 'long key parts', tests: [[`${lib}/limiter/native-sha256.test.ts`, 'the hash of node:crypto']] },
  M10: {
    found: 'the schema for editors catches little',
    tests: [[`${lib}/policy/document/schema/schema.test.ts`, 'refuses in an editor what the compiler refuses']],
  },
  M11: {
    found: 'no place for notes',
    tests: [
      [`${lib}/policy/document/schema/schema.test.ts`, 'say what they are for'],
      [`${lib}/policy/document/legacy-document.test.ts`, '_class'],
    ],
  },
}
