import { guarded, sameSite } from '../../access.ts'
import type { Routes } from '../../api-parts.ts'
import { HttpProblem } from '../../problem.ts'
import { readJson } from '../../read-body.ts'
import { readQuery } from '../../read-query.ts'
import { requirePage } from '../../session/page-access.ts'

/** `/v1/session`: signing in to the page with a one-time code or the token, and signing out. */
export const sessionRoutes: Routes = (app, { page, access }) => {
  app.use('/v1/session', sameSite, guarded(requirePage))
  app.use('/v1/session/code', sameSite, guarded(access.admin))

  app.get('/v1/session', function read(c) {
    readQuery(c)
    const session = page.sessionOf(c.env.incoming)
    return c.json({ signedIn: session !== undefined, endsAt: session?.endsAtMs ?? null })
  })

  app.post('/v1/session', async function signIn(c) {
    readQuery(c)
    const { secret } = await readJson(c, 'secret')
    if (typeof secret !== 'string' || secret === '' || secret.length > 1000)
      throw new HttpProblem(400, 'Send the code or the token as {"secret": "..."}.')
    const { cookie, session } = page.signIn(c.env.incoming, secret)
    c.header('set-cookie', cookie)
    c.header('cache-control', 'no-store')
    return c.json({ signedIn: true, endsAt: session.endsAtMs })
  })

  app.delete('/v1/session', function signOut(c) {
    readQuery(c)
    c.header('set-cookie', page.signOut(c.env.incoming))
    return c.json({ signedIn: false, endsAt: null })
  })

  app.post('/v1/session/code', function code(c) {
    readQuery(c)
    c.header('cache-control', 'no-store')
    return c.json(page.issueCode())
  })
}
