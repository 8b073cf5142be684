import { readNumber, readQuery } from '../input/read-query.ts'
import type { Routes } from '../router.ts'
import type { Denials } from '../shapes/page.ts'

/** `GET /v1/denials`: the last denials of all processes that report, and with `after` what came since. */
export const denialsRoute: Routes = ({ read }, { live }) => {
  read.get('/v1/denials', function denials(c) {
    const { after = '', rule, limit } = readQuery(c, 'after', 'rule', 'limit')
    live.wanted()
    const [epoch, number] = after.split('-')
    const seen = epoch === live.log.epoch ? Number(number) || 0 : 0
    const since = live.denials.since(seen)
    const chosen = since.filter((denial) => rule === undefined || denial.rule === rule)
    return c.json({
      denials: chosen.slice(0, readNumber('limit', limit, 100, 1, 1000)),
      next: `${live.log.epoch}-${live.denials.added}`,
      missed: seen === 0 ? 0 : Math.max(0, live.denials.added - seen - since.length),
    } satisfies Denials)
  })
}
