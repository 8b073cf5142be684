import { admin, answer, body, get, malformed, type Part, query, wrong } from './operations.ts'

const foreign = { 403: wrong('Asked by a page of another site, or without the header X-Sluice-Page.') }

/** The routes that only the page uses. */
export const pagePaths: Part = {
  '/v1/session': {
    get: get('session', 'Whether this browser is signed in', {
      200: answer('Whether it is.', 'Session'),
      400: wrong('A parameter is unknown.'),
      ...foreign,
    }),
    post: get(
      'signIn',
      'Exchanges a one-time code or the admin token for a session, as a cookie',
      {
        200: answer('Signed in; the cookie is HttpOnly and SameSite=Strict.', 'Session'),
        401: wrong('Neither the token nor a code that can still be used.'),
        429: wrong('Too many attempts.'),
        ...foreign,
        ...malformed,
      },
      { requestBody: body('SignIn') },
    ),
    delete: get('signOut', 'Ends the session', {
      200: answer('Signed out.', 'Session'),
      400: wrong('A parameter is unknown.'),
      ...foreign,
    }),
  },
  '/v1/session/code': {
    post: admin('sessionCode', 'A code that signs in once, within a minute', {
      200: answer('The code.', 'SessionCode'),
    }),
  },
  '/v1/overview': {
    get: admin('overview', 'How the service stands: who is refused, the store, the policy, and all processes', {
      200: answer('The figures.', 'Overview'),
    }),
  },
  '/v1/rules': {
    get: admin('rules', 'Every rule with what it decided in the last 15 minutes', {
      200: answer('The rules, in the order of the policy.', 'Rules'),
    }),
  },
  '/v1/rules/{name}': {
    get: admin(
      'rule',
      'One rule: its limits, its keys, how full they are, and its last denials',
      { 200: answer('The rule.', 'RuleDetails'), 404: wrong('The policy has no such rule.') },
      { parameters: [{ name: 'name', in: 'path', required: true, schema: { type: 'string' } }] },
    ),
  },
  '/v1/live': {
    get: admin(
      'live',
      'The last 15 minutes by the second, what happened in them, and then everything as it comes, as server-sent events',
      {
        200: {
          description: 'A stream of hello and entries; entries have ids, by which a reader resumes.',
          content: { 'text/event-stream': { schema: { type: 'string' } } },
        },
        503: wrong('Too many are watching, or the daemon is ending.'),
      },
      { parameters: [query('after', 'The id of the last message, as in Last-Event-ID.', { type: 'string' })] },
    ),
  },
}
