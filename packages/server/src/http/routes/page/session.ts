import type { IncomingMessage } from 'node:http'
import { SignIn } from '../../../shapes/page.ts'
import type { OpenSession } from '../../access/session/sessions.ts'
import { readBody } from '../../input/read-body.ts'
import type { Routes } from '../../router.ts'

/** `/v1/session`: signing in to the page with a one-time code or the token, and signing out. */
export const sessionRoutes: Routes = ({ page, read }, { page: access }) => {
  const stateOf = (request: IncomingMessage, session: OpenSession | undefined): object => {
    const { name = null, role = null } = session?.person ?? {}
    const secure = access.isSecure(request)
    return { signedIn: session !== undefined, endsAt: session?.endsAtMs ?? null, name, role, secure }
  }

  page.get('/v1/session', function state(c) {
    return c.json(stateOf(c.env.incoming, access.sessionOf(c.env.incoming)))
  })

  page.post('/v1/session', async function signIn(c) {
    const { secret } = await readBody(c, SignIn)
    const { cookie, session } = access.signIn(c.env.incoming, secret)
    c.header('set-cookie', cookie)
    return c.json(stateOf(c.env.incoming, session))
  })

  page.delete('/v1/session', function signOut(c) {
    c.header('set-cookie', access.signOut(c.env.incoming))
    return c.json(stateOf(c.env.incoming, undefined))
  })

  read.post('/v1/session/code', function code(c) {
    return c.json(access.issueCode(access.personOf(c.env.incoming)!))
  })
}
