import { createShipper, type FlushReport } from 'sluice/shipper'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { bufferDir } from '../../shipper/buffer-dir.ts'
import { serverOf } from '../../shipper/server-of.ts'
import { count, duration } from '../../terminal/numbers.ts'
import { progress } from '../../terminal/progress.ts'
import { safe } from '../../terminal/text.ts'

/** One pass of the flow, with a bar. */
export async function shipperFlush(input: Input, terminal: Terminal): Promise<ExitCode> {
  const dir = bufferDir(input)
  const shipper = await createShipper({ dir, ...serverOf(input, 'flush'), flushInterval: false })
  const shown = progress(terminal)
  let sent = 0
  let turnedAway = false
  let interrupted = false
  const interrupt = (): void => {
    interrupted = true
    void shipper.close()
  }
  process.once('SIGINT', interrupt)
  shipper.on('turnedAway', () => {
    turnedAway = true
  })
  shipper.on('sent', (batch) => {
    sent += batch.sent + batch.duplicates + batch.rejected
    shown.at(
      sent / Math.max(1, sent + batch.pending),
      `sending  ${count(sent)} of ${count(sent + batch.pending)} events`,
    )
  })
  let report: FlushReport
  try {
    report = await shipper.flush()
  } finally {
    process.off('SIGINT', interrupt)
    shown.end()
    await shipper.close()
  }
  terminal.result(report, () => terminal.line(sentence(report, terminal)))
  if (interrupted) return 130
  return report.outcome !== 'failed' ? codes[report.outcome] : turnedAway ? 4 : 3
}

const codes: Readonly<Record<Exclude<FlushReport['outcome'], 'failed'>, ExitCode>> = {
  drained: 0,
  // Whoever owns the buffer sends the events: nothing is left to do here.
  'not-owner': 0,
  waiting: 1,
  'not-ready': 1,
  unreadable: 1,
  stopped: 130,
}

function sentence(report: FlushReport, { style }: Terminal): string {
  const { outcome, sent, duplicates, rejected, pending, nextAttemptInMs, reason } = report
  const parts = [
    `${count(sent)} sent`,
    ...(duplicates > 0 ? [`${count(duplicates)} known to the server already`] : []),
    ...(rejected > 0 ? [style.warn(`${count(rejected)} set aside`)] : []),
    `${count(pending)} left`,
  ]
  const again = nextAttemptInMs > 0 ? `; next attempt in ${duration(nextAttemptInMs)}` : ''
  const heads = {
    drained: style.good('Done'),
    'not-owner': style.warn('Another process ships from this buffer'),
    waiting: style.warn('The next attempt is not due yet'),
    'not-ready': style.warn('The server is not ready'),
    unreadable: style.bad(`Not all could be read: ${safe(reason ?? 'unknown')}`),
    stopped: style.warn('Stopped'),
    failed: style.bad(`Failed: ${safe(reason ?? 'unknown')}`),
  }
  return `${heads[outcome]}: ${parts.join(', ')}${again}`
}
