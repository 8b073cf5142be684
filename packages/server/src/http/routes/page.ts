import { readFileSync } from 'node:fs'
import type { Routes } from '../app.ts'
import { openApi } from '../openapi/document.ts'

const file = (name: string): string => readFileSync(new URL(`../page/${name}`, import.meta.url), 'utf8')

const security = {
  'content-security-policy':
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-cache',
}

/** `/`: a small page with what the daemon does right now; and `/openapi.json`. */
export const pageRoutes: Routes = (app) => {
  const pages = [
    { path: '/', type: 'text/html; charset=utf-8', text: file('index.html') },
    { path: '/page.js', type: 'text/javascript; charset=utf-8', text: file('page.js') },
    { path: '/page.css', type: 'text/css; charset=utf-8', text: file('page.css') },
  ]
  for (const { path, type, text } of pages)
    app.get(path, (c) => c.body(text, 200, { ...security, 'content-type': type }))
  app.get('/openapi.json', (c) => c.json(openApi))
}
