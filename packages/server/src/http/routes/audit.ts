import { readNumber } from '../input/read-query.ts'
import type { Routes } from '../router.ts'

const maxListed = 1000

/** `GET /v1/audit`: what operators changed through this daemon, newest first. */
export const auditRoute: Routes = ({ admin }, { audit }) => {
  admin.get('/v1/audit', function list(c) {
    const limit = readNumber(c, 'limit', 100, 1, maxListed)
    return c.json({ entries: audit.newest(limit) })
  })
}
