import { HttpProblem } from '../../problem.ts'
import { readJson } from '../../read-body.ts'
import { readQuery } from '../../read-query.ts'
import type { Routes } from '../../router.ts'

/** `/v1/session`: signing in to the page with a one-time code or the token, and signing out. */
export const sessionRoutes: Routes = ({ page, admin }, { page: access }) => {
  page.get('/v1/session', function read(c) {
    readQuery(c)
    const session = access.sessionOf(c.env.incoming)
    return c.json({ signedIn: session !== undefined, endsAt: session?.endsAtMs ?? null })
  })

  page.post('/v1/session', async function signIn(c) {
    readQuery(c)
    const { secret } = await readJson(c, 'secret')
    if (typeof secret !== 'string' || secret === '' || secret.length > 1000)
      throw new HttpProblem(400, 'Send the code or the token as {"secret": "..."}.')
    const { cookie, session } = access.signIn(c.env.incoming, secret)
    c.header('set-cookie', cookie)
    return c.json({ signedIn: true, endsAt: session.endsAtMs })
  })

  page.delete('/v1/session', function signOut(c) {
    readQuery(c)
    c.header('set-cookie', access.signOut(c.env.incoming))
    return c.json({ signedIn: false, endsAt: null })
  })

  admin.post('/v1/session/code', function code(c) {
    readQuery(c)
    return c.json(access.issueCode())
  })
}
