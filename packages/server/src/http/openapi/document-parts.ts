import { answer, get, malformed, type Part, query, wrong } from './operations.ts'

export const policyBody: Part = {
  required: true,
  description: 'A policy: YAML, or JSON with the content type application/json.',
  content: { 'application/yaml': { schema: { type: 'string' } }, 'application/json': { schema: { type: 'object' } } },
}
export const dryRun: Part = query('dryRun', 'Check it and tell what would change, and leave it at that.', {
  type: 'boolean',
})
export const keyPath: Part = {
  name: 'key',
  in: 'path',
  required: true,
  description: 'A readable key: service/rule/part/..., each segment percent-encoded.',
  schema: { type: 'string' },
}
export const checking: Part = {
  ...malformed,
  401: wrong('The decide token is missing or wrong, where there is one.'),
  403: wrong('Asked by a page of another site.'),
  404: wrong('The policy has no such rule.'),
  409: wrong('The operation does not fit the rule.'),
}

export const ifMatch: Part = {
  name: 'If-Match',
  in: 'header',
  description: 'The ETag of GET /v1/policy: refuses when somebody else has changed the policy since.',
  schema: { type: 'string' },
}
export const editing: Part = {
  ...malformed,
  404: wrong('The policy is of another service, or has no override for this key.'),
  409: wrong('The source cannot be written to, or no override can name this key.'),
  412: wrong('Another version is in force than If-Match says.'),
  422: wrong('The policy would make no sense with it.'),
  428: wrong('If-Match is missing.'),
}

const authAnswers = {
  200: { description: 'The request may pass; RateLimit headers tell how much is left.' },
  400: wrong('The request lacks what a rule needs, or the headers make no sense.'),
  401: wrong('Denied, with ?deny=401; or the decide token is missing or wrong, where there is one.'),
  403: wrong('Denied, with ?deny=403, which nginx needs.'),
  429: wrong('Denied.'),
  503: wrong('The store failed and the rule is closed.'),
}
export const auth = (operationId: string): Part =>
  get(
    operationId,
    'Asks whether the request described by X-Original-* or X-Forwarded-* headers may pass',
    authAnswers,
    {
      parameters: [
        query('headers', 'The headers that the proxy writes; others are ignored.', {
          enum: ['x-original', 'x-forwarded'],
        }),
        query('deny', 'The status of every denial; Sluice-Status then has the true one.', {
          enum: ['401', '403', '429'],
        }),
      ],
    },
  )

export const health = (operationId: string): Part => ({
  get: get(operationId, 'Whether the process lives', { 200: answer('It does.', 'Health') }),
})
export const ready = (operationId: string): Part => ({
  get: get(
    operationId,
    'Whether requests should be sent here',
    {
      200: answer('Yes.', 'Ready'),
      400: wrong('A parameter is unknown or makes no sense.'),
      503: answer('It is ending, or with strict is degraded.', 'Ready'),
    },
    { parameters: [query('strict', 'Say no while decisions are degraded.', { type: 'boolean' })] },
  ),
})

export const securitySchemes: Part = {
  adminToken: { type: 'http', scheme: 'bearer' },
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'sluice_session',
    description: 'Of a browser that signed in. What changes something needs the header X-Sluice-Page, too.',
  },
}
