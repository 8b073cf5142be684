import type { Routes } from '../api-parts.ts'
import { readNumber, readQuery } from '../read-query.ts'

const maxListed = 1000

/** `GET /v1/audit`: what operators changed through this daemon, newest first. */
export const auditRoute: Routes = (app, { audit }) => {
  app.get('/v1/audit', function list(c) {
    const limit = readNumber('limit', readQuery(c, 'limit').limit, 100, 1, maxListed)
    return c.json({ entries: audit.newest(limit) })
  })
}
