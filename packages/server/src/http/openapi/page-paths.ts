import { admin, answer, body, get, malformed, type Part, wrong } from './operations.ts'

const foreign = { 403: wrong('Asked by a page of another site, or without the header X-Sluice-Page.') }

/** What the page needs beyond what everybody uses. */
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
}
