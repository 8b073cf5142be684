import { schemas } from '../../shapes/json-schemas.ts'
import { version } from '../../version.ts'
import {
  decisions,
  everybody,
  flag,
  oneOf,
  operators,
  type Part,
  page,
  pathsOf,
  reporters,
  text,
  whole,
} from './operations.ts'

const policy = {
  description: 'A policy: YAML, or JSON with the content type application/json.',
  content: { 'application/yaml': { schema: { type: 'string' } }, 'application/json': { schema: { type: 'object' } } },
}
const ifMatch = { 'If-Match': text('The ETag of GET /v1/policy: refuses when somebody else has changed it since.') }
const dryRun = { dryRun: flag('Check it and tell what would change, and leave it at that.') }
const pushed = [404, 409, 412, 422] as const
const plain = (type: string, schema = 'string'): Part => ({ content: { [type]: { schema: { type: schema } } } })

/** A question of a proxy: its answer has no body, and what denies is also the answer. */
const auth = (id: string): Part =>
  decisions(
    id,
    'Asks whether the request described by X-Original-* or X-Forwarded-* headers may pass',
    { description: 'It may pass; RateLimit headers tell how much is left.' },
    {
      query: {
        headers: oneOf('The headers that the proxy writes; others are ignored.', 'x-original', 'x-forwarded'),
        deny: oneOf('The status of every denial; Sluice-Status then has the actual one.', '401', '403', '429'),
      },
      refuses: [429, 503],
    },
  )

/** Whether requests should be sent here: says also why not. */
const ready = (id: string): Part => {
  const query = { strict: flag('Say no while decisions are degraded.') }
  const asked = everybody(id, 'Whether requests should be sent here', 'Ready', { query, refuses: [400] })
  const responses = asked.responses as Readonly<Record<number, Part>>
  return { ...asked, responses: { ...responses, 503: { ...responses[200], description: 'They should not.' } } }
}

/** Every operation by method and path. The router refuses parameters that are not here. */
const operations: Readonly<Record<string, Part>> = {
  'POST /v1/check': decisions('check', 'Decides on a key or a request, or on many at once', ['Decision', 'Decisions'], {
    query: { mirror: flag('Answer as the service itself would: 200, or 429 with headers.') },
    body: ['Check', 'Checks'],
    refuses: [429, 503],
  }),
  'POST /v1/reserve': decisions('reserve', 'Takes units whose final cost is not known yet', 'Hold', {
    body: 'Reserve',
    refuses: [503],
  }),
  'POST /v1/settle': decisions('settle', 'Ends a hold with what it really cost', 'Settled', {
    body: 'Settle',
    refuses: [503],
  }),
  'GET /v1/auth': auth('auth'),
  'POST /v1/auth': auth('authPost'),
  'GET /v1/keys/{key}': operators('inspect', 'Where a key stands and why', 'Inspection', {
    query: { tier: text('The tier of the key, where only requests tell it.') },
    refuses: [404, 409],
  }),
  'DELETE /v1/keys/{key}': operators('reset', 'Forgets what a key has used', 'Reset', { refuses: [404, 409, 503] }),
  'PUT /v1/blocks/{key}': operators('block', 'Lets nothing of a key pass for a while', 'Blocked', {
    body: 'Block',
    refuses: [404, 409, 503],
  }),
  'DELETE /v1/blocks/{key}': operators('unblock', 'Ends the block of a key', 'Unblocked', { refuses: [404, 409, 503] }),
  'POST /v1/explain': operators('explain', 'Which rules apply to a request or a key, and why', 'Explanation', {
    body: 'Explain',
    refuses: [404],
  }),
  'GET /v1/policy': operators('policy', 'The policy in force', 'Policy'),
  'PUT /v1/policy': operators('pushPolicy', 'Puts a policy in force for every replica', 'PolicyOutcome', {
    query: dryRun,
    headers: ifMatch,
    body: policy,
    refuses: [409, 412, 422],
  }),
  'GET /v1/policy/schema': operators(
    'policySchema',
    'The JSON Schema of policies',
    plain('application/schema+json', 'object'),
  ),
  'POST /v1/policy/try': operators(
    'tryPolicy',
    'Replays the last requests through a policy and the one that runs',
    'Trial',
    { body: policy, refuses: [409, 422, 503] },
  ),
  'PUT /v1/policy/overrides/{key}': operators('setOverride', 'Gives a key other limits until a time', 'PolicyOutcome', {
    headers: ifMatch,
    body: 'Override',
    refuses: [...pushed, 428],
  }),
  'DELETE /v1/policy/overrides/{key}': operators(
    'removeOverride',
    'Takes the override of a key away',
    'PolicyOutcome',
    { headers: ifMatch, refuses: [...pushed, 428] },
  ),
  'POST /v1/policy/validate': operators('validatePolicy', 'Checks a policy', 'PolicyOutcome', {
    body: policy,
    refuses: [422],
  }),
  'GET /v1/policy/versions': operators('policyVersions', 'Former versions, newest first', 'PolicyVersions', {
    query: { limit: whole('At most how many.', 1, 100) },
    refuses: [409],
  }),
  'GET /v1/policy/versions/{revision}': operators('policyVersion', 'One version', 'PolicyVersion', {
    refuses: [404, 409],
  }),
  'POST /v1/policy/rollback': operators('rollback', 'Puts a former version in force again', 'PolicyOutcome', {
    query: dryRun,
    headers: ifMatch,
    body: 'Rollback',
    refuses: pushed,
  }),
  'GET /v1/audit': operators('audit', 'What operators changed through this daemon', 'Audit', {
    query: { limit: whole('At most how many.', 1, 1000) },
  }),
  'GET /v1/stats': operators('stats', 'What all processes of the service decided', 'Stats', {
    query: {
      service: text("Another service than the daemon's. Policy and store stay those of the daemon."),
      top: whole('How many keys of each rule.', 0, 200),
    },
  }),
  'GET /v1/services': operators('services', 'The services that report, where several share a Redis', 'Services'),
  'GET /v1/denials': operators('denials', 'The last denials of all processes that report', 'Denials', {
    query: {
      after: text('What an answer had as next: only what came since.'),
      rule: text('Only those of this rule.'),
      limit: whole('How many at most.', 1, 1000),
    },
  }),
  'POST /v1/parts/{replica}/actions': operators('partAction', 'Has a part of a process do something', 'Ordered', {
    body: 'PartAction',
    status: 202,
    refuses: [404, 409, 503],
  }),
  'POST /v1/reports': reporters('report', 'Takes how a process stands, where there is no Redis', 'Received', {
    body: 'Report',
    refuses: [503],
  }),
  'DELETE /v1/reports/{service}/{replica}': reporters('removeReport', 'Takes a report back', 'Removed'),
  'GET /v1/session': page('session', 'Whether this browser is signed in', 'Session'),
  'POST /v1/session': page('signIn', 'Exchanges a one-time code or a token for a cookie', 'Session', {
    body: 'SignIn',
    refuses: [401, 429],
  }),
  'DELETE /v1/session': page('signOut', 'Ends the session', 'Session'),
  'POST /v1/session/code': operators('sessionCode', 'A code that signs in once, within a minute', 'SessionCode'),
  'GET /v1/overview': operators('overview', 'How the service stands', 'Overview'),
  'GET /v1/rules': operators('rules', 'Every rule with what it decided in the last 15 minutes', 'Rules'),
  'GET /v1/rules/{name}': operators('rule', 'One rule with its keys and its last denials', 'RuleDetails', {
    refuses: [404],
  }),
  'GET /v1/live': operators(
    'live',
    'The last 15 minutes and then everything as it comes: events hello and entries, with ids to resume by',
    plain('text/event-stream'),
    { query: { after: text('The id of the last message, as in Last-Event-ID.') }, refuses: [503] },
  ),
  'GET /health': everybody('health', 'Whether the process lives', 'Health'),
  'GET /healthz': everybody('healthz', 'Whether the process lives', 'Health'),
  'GET /ready': ready('ready'),
  'GET /readyz': ready('readyz'),
  'GET /metrics': everybody('metrics', 'Metrics for Prometheus; there may be a token for it', plain('text/plain'), {
    refuses: [401, 429],
  }),
}

const paths = pathsOf(operations)

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
  paths,
  components: {
    schemas,
    securitySchemes: {
      adminToken: { type: 'http', scheme: 'bearer' },
      session: {
        type: 'apiKey',
        in: 'cookie',
        name: 'sluice_session',
        description: 'Of a browser that signed in. What changes something needs the header X-Sluice-Page, too.',
      },
    },
  },
}

/** The parameters that a route of the router takes; undefined where they are not looked at, as by probes. */
export function parametersOf(method: string, route: string): readonly string[] | undefined {
  const isApi = route.startsWith('/v1/')
  const path = route.replace('*', '{key}').replace(/:(\w+)/g, '{$1}')
  const operations = paths[path]
  const operation = operations?.[method.toLowerCase()] ?? (method === 'ALL' ? operations?.get : undefined)
  if (operation === undefined && isApi) throw new Error(`${method} ${path} is not in the description of the API`)
  const parameters = (operation?.parameters ?? []) as readonly { readonly name: string; readonly in: string }[]
  const known = parameters.filter((each) => each.in === 'query').map(({ name }) => name)
  return isApi || known.length > 0 ? known : undefined
}
