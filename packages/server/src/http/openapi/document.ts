import { ref, schemas } from '../../shapes/json-schemas.ts'
import { version } from '../../version.ts'
import {
  auth,
  checking,
  dryRun,
  editing,
  health,
  ifMatch,
  keyPath,
  policyBody,
  ready,
  securitySchemes,
} from './document-parts.ts'
import { admin, answer, body, get, malformed, type Part, query, wrong } from './operations.ts'
import { pagePaths } from './page-paths.ts'
import { reportPaths } from './report-paths.ts'

/** The description of the HTTP API, served at `/openapi.json`; tests hold the daemon to it. */
export const openApi: Part = {
  openapi: '3.1.0',
  info: {
    title: 'Sluice',
    version,
    description: 'Flow control over HTTP.',
    license: { name: 'MIT', identifier: 'MIT' },
  },
  servers: [{ url: '/' }],
  paths: {
    '/v1/check': {
      post: get(
        'check',
        'Decides on a key or a request, or on many at once',
        {
          200: {
            description: 'The decision, or all of them in order.',
            content: { 'application/json': { schema: { oneOf: [ref('Decision'), ref('Decisions')] } } },
          },
          429: wrong('Denied, with mirror.'),
          503: wrong('The daemon is overloaded; with mirror, also: the store failed and the rule is closed.'),
          ...checking,
        },
        {
          requestBody: body('Check', 'Checks'),
          parameters: [
            query('mirror', 'Answer as the service itself would: 200, or 429 with headers.', { type: 'boolean' }),
          ],
        },
      ),
    },
    '/v1/reserve': {
      post: get(
        'reserve',
        'Takes units whose final cost is not known yet',
        { 200: answer('The hold.', 'Hold'), 503: wrong('The daemon is overloaded.'), ...checking },
        { requestBody: body('Reserve') },
      ),
    },
    '/v1/settle': {
      post: get(
        'settle',
        'Ends a hold with what it really cost',
        { 200: answer('Whether the hold was open.', 'Settled'), 503: wrong('The store failed.'), ...checking },
        { requestBody: body('Settle') },
      ),
    },
    '/v1/auth': { get: auth('auth'), post: auth('authPost') },
    '/v1/keys/{key}': {
      get: admin(
        'inspect',
        'Where a key stands and why',
        { 200: answer('Its limits and holds.', 'Inspection'), ...checking },
        { parameters: [keyPath] },
      ),
      delete: admin(
        'reset',
        'Forgets what a key has used',
        { 200: answer('Done.', 'Reset'), 503: wrong('The store failed.'), ...checking },
        { parameters: [keyPath] },
      ),
    },
    '/v1/blocks/{key}': {
      put: admin(
        'block',
        'Lets nothing of a key pass for a while',
        { 200: answer('Done.', 'Blocked'), 503: wrong('The store failed.'), ...checking },
        { parameters: [keyPath], requestBody: body('Block') },
      ),
      delete: admin(
        'unblock',
        'Ends the block of a key',
        { 200: answer('Whether there was one.', 'Unblocked'), 503: wrong('The store failed.'), ...checking },
        { parameters: [keyPath] },
      ),
    },
    '/v1/explain': {
      post: admin(
        'explain',
        'Tells which rules apply to a request or a key and why, without spending',
        { 200: answer('Every rule.', 'Explanation'), 404: wrong('The policy has no such rule.'), ...malformed },
        { requestBody: body('Explain') },
      ),
    },
    '/v1/policy': {
      get: admin('policy', 'The policy in force', { 200: answer('The policy.', 'Policy') }),
      put: admin(
        'pushPolicy',
        'Puts a policy in force for every replica',
        {
          200: answer('What it changes.', 'PolicyOutcome'),
          409: wrong('The source cannot be written to, or the service differs.'),
          412: wrong('Another version is in force than If-Match says.'),
          422: wrong('The policy was refused; issues lists every mistake.'),
          ...malformed,
        },
        { requestBody: policyBody, parameters: [dryRun, ifMatch] },
      ),
    },
    '/v1/policy/schema': {
      get: admin('policySchema', 'The JSON Schema of policies', {
        200: {
          description: 'The schema.',
          content: { 'application/schema+json': { schema: { type: 'object' } } },
        },
      }),
    },
    '/v1/policy/try': {
      post: admin(
        'tryPolicy',
        'Replays the last requests of this daemon through a policy, and through the one that runs; nothing is spent',
        {
          200: answer('Who would have been denied, side by side.', 'Trial'),
          409: wrong('The policy is for another service.'),
          422: wrong('The policy was refused; issues lists every mistake.'),
          503: wrong('Another policy is being tried.'),
          ...malformed,
        },
        { requestBody: policyBody },
      ),
    },
    '/v1/policy/overrides/{key}': {
      put: admin(
        'setOverride',
        'Gives a key other limits until a given time, by pushing the policy with it',
        { 200: answer('What it changes.', 'PolicyOutcome'), ...editing },
        { requestBody: body('Override'), parameters: [keyPath, ifMatch] },
      ),
      delete: admin(
        'removeOverride',
        'Takes the override of a key out of the policy',
        { 200: answer('What it changes.', 'PolicyOutcome'), ...editing },
        { parameters: [keyPath, ifMatch] },
      ),
    },
    '/v1/policy/validate': {
      post: admin(
        'validatePolicy',
        'Checks a policy',
        {
          200: answer('What it would change.', 'PolicyOutcome'),
          422: wrong('The policy was refused; issues lists every mistake.'),
          ...malformed,
        },
        { requestBody: policyBody },
      ),
    },
    '/v1/policy/versions': {
      get: admin(
        'policyVersions',
        'Former versions, newest first',
        {
          200: answer('The versions.', 'PolicyVersions'),
          400: wrong('limit makes no sense.'),
          409: wrong('The source keeps none.'),
        },
        { parameters: [query('limit', 'At most how many.', { type: 'integer', minimum: 1, maximum: 100 })] },
      ),
    },
    '/v1/policy/versions/{revision}': {
      get: admin(
        'policyVersion',
        'One version',
        {
          200: answer('The version.', 'PolicyVersion'),
          404: wrong('No such version is kept.'),
          409: wrong('The source keeps none.'),
        },
        { parameters: [{ name: 'revision', in: 'path', required: true, schema: { type: 'integer' } }] },
      ),
    },
    '/v1/policy/rollback': {
      post: admin(
        'rollback',
        'Puts a former version in force again; the one before the newest unless said otherwise',
        {
          200: answer('What it changes.', 'PolicyOutcome'),
          404: wrong('No such version is kept.'),
          409: wrong('The source keeps none.'),
          412: wrong('Another version is in force than If-Match says.'),
          422: wrong('The version no longer makes sense.'),
          ...malformed,
        },
        { requestBody: body('Rollback'), parameters: [dryRun, ifMatch] },
      ),
    },
    '/v1/audit': {
      get: admin(
        'audit',
        'What operators changed through this daemon, newest first: at most the last 1,000 changes since it started',
        { 200: answer('The changes.', 'Audit') },
        { parameters: [query('limit', 'At most how many.', { type: 'integer', minimum: 1, maximum: 1000 })] },
      ),
    },
    '/v1/stats': {
      get: admin(
        'stats',
        'What all processes of the service decided, as they report, and the hottest keys',
        { 200: answer('The figures.', 'Stats'), 400: wrong('top makes no sense.') },
        {
          parameters: [
            query('service', "Another service than the daemon's. Policy and store stay those of the daemon.", {
              type: 'string',
            }),
            query('top', 'How many keys of each rule.', { type: 'integer', minimum: 0, maximum: 200 }),
          ],
        },
      ),
    },
    '/v1/services': {
      get: admin('services', 'The services that report, where several share a Redis', {
        200: answer('Their names.', 'Services'),
      }),
    },
    '/v1/denials': {
      get: admin(
        'denials',
        'The last denials of all processes that report',
        { 200: answer('The denials.', 'Denials'), 400: wrong('limit makes no sense.') },
        {
          parameters: [
            query('after', 'What an answer had as next: only what came since.', { type: 'string' }),
            query('rule', 'Only those of this rule.', { type: 'string' }),
            query('limit', 'How many at most.', { type: 'integer', minimum: 1, maximum: 1000 }),
          ],
        },
      ),
    },
    ...reportPaths,
    ...pagePaths,
    '/health': health('health'),
    '/healthz': health('healthz'),
    '/ready': ready('ready'),
    '/readyz': ready('readyz'),
    '/metrics': {
      get: get('metrics', 'Metrics for Prometheus', {
        200: { description: 'The text format.', content: { 'text/plain': { schema: { type: 'string' } } } },
      }),
    },
  },
  components: { schemas, securitySchemes },
}
