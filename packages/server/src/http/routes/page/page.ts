import { openApi } from '../../openapi/document.ts'
import { pageFiles } from '../../page-files.ts'
import { HttpProblem } from '../../problem.ts'
import type { Routes } from '../../router.ts'

const security = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  // For browsers that do not know frame-ancestors.
  'x-frame-options': 'DENY',
}

/** `/`: the page; and `/openapi.json`. */
export const pageRoutes: Routes = ({ site }) => {
  const files = pageFiles()
  for (const path of ['/', '/assets/*']) {
    site.get(path, function page(c) {
      const file = files.find(c.req.path, c.req.header('accept-encoding') ?? '')
      if (file !== undefined) return c.body(file.body, 200, { ...security, ...file.headers })
      if (c.req.path !== '/') throw new HttpProblem(404, `There is no ${c.req.path}.`)
      return c.text('The page has not been built: run npm run build. The API works; /openapi.json describes it.\n', 503)
    })
  }
  site.get('/openapi.json', (c) => c.json(openApi))
}
