import { maxReportBytes, type ReportDestination, readReport } from 'sluice/reports'
import { readText } from '../input/read-body.ts'
import { readQuery } from '../input/read-query.ts'
import { HttpProblem } from '../problem.ts'
import type { Routes } from '../router.ts'

/** `POST /v1/reports`: how the parts of a process stand, for fleets without Redis. Forgotten after ten seconds. */
export const reportsRoute: Routes = ({ report }, { reports }) => {
  report.post('/v1/reports', async function receive(c) {
    readQuery(c)
    const text = await readText(c, maxReportBytes)
    const report = readReport(text)
    if (report === undefined)
      throw new HttpProblem(400, 'The body is not a report of a version that this daemon knows.')
    await kept(reports.board, report.service, report.replica, text)
    return c.json({ received: true })
  })

  report.delete('/v1/reports/:service/:replica', async function remove(c) {
    readQuery(c)
    await reports.board.remove(c.req.param('service'), c.req.param('replica'), 0)
    return c.json({ removed: true })
  })
}

async function kept(board: ReportDestination, service: string, replica: string, text: string): Promise<void> {
  try {
    await board.send(service, replica, text, 0)
  } catch (error) {
    throw new HttpProblem(503, `The report was not kept: ${(error as Error).message}.`)
  }
}
