import { isCacheKey } from 'sluice/cache'
import { outOfReach } from '../../cli-error.ts'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { limitTable } from '../../show/limits.ts'
import { openTarget } from '../../target/open-target.ts'
import { keyOf } from '../../target/subject.ts'
import { duration } from '../../terminal/numbers.ts'
import { columns, safe } from '../../terminal/text.ts'
import { inspectCache, showUpstream, upstreamNamespace } from './inspect-upstream.ts'

/** Shows the limits of a key and what is held of them. */
export async function inspect(input: Input, terminal: Terminal): Promise<ExitCode> {
  const given = input.args[0] ?? ''
  if (given.startsWith(upstreamNamespace)) return showUpstream(given, input, terminal)
  if (isCacheKey(given)) return inspectCache(given, input, terminal)
  const key = keyOf(input)
  const target = await openTarget(input, { needsStore: true })
  try {
    const inspection = await target.inspect(key, input.text('tier'))
    // What is counted has at least one limit; there is none only when the store was not asked.
    if (inspection.limits.length === 0 && !inspection.fixed && !inspection.tierUnknown)
      throw outOfReach('the store could not be asked', { hint: 'see: sluice doctor' })
    terminal.result(inspection, () => {
      const { style } = terminal
      terminal.line(`${style.strong(safe(inspection.key))}  ${style.faint(`by ${target.description}`)}`)
      if (inspection.degraded)
        terminal.line(`  ${style.warn('degraded: the store does not answer; this is only what one process knows')}`)
      if (inspection.tierUnknown)
        terminal.line('  its tier is not known here, and so its limits are not: name one with --tier')
      if (inspection.fixed) terminal.line(`  ${style[inspection.fixed === 'deny' ? 'bad' : 'good'](inspection.fixed)}`)
      for (const line of limitTable(inspection.limits, style)) terminal.line(`  ${line}`)
      if (inspection.holds.length === 0) return
      terminal.line()
      terminal.line(style.strong('Open holds'))
      const rows = inspection.holds.map(({ id, cost, expiresInMs }) => [
        safe(id),
        `${cost} units`,
        `expires in ${duration(expiresInMs)}`,
      ])
      for (const line of columns(rows)) terminal.line(`  ${line}`)
    })
    return 0
  } finally {
    await target.close()
  }
}
