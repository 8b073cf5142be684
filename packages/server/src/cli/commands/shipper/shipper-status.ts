import { type BufferReport, type BufferState, inspectBuffer, readState, resetState } from 'sluice/shipper'
import type { ExitCode, Input, Terminal } from '../../command.ts'
import { bufferDir } from '../../shipper/buffer-dir.ts'
import { count, duration } from '../../terminal/numbers.ts'
import type { Style } from '../../terminal/style.ts'
import { columns, safe } from '../../terminal/text.ts'

/** Shows where a buffer stands; with `--reset` lets the next flush try at once. */
export async function shipperStatus(input: Input, terminal: Terminal): Promise<ExitCode> {
  const dir = bufferDir(input)
  if (input.flag('reset')) await resetState(dir)
  const [state, buffer] = [await readState(dir), await inspectBuffer(dir)]
  const nowMs = Date.now()
  const status = statusOf(dir, state, buffer, nowMs)
  terminal.result(status, () => {
    if (input.flag('reset')) terminal.line(terminal.style.good('Reset: the next flush tries at once.'))
    terminal.lines(statusLines(status, terminal.style, nowMs))
  })
  return 0
}

/** What `sluice shipper status --json` prints. */
interface Status {
  readonly dir: string
  readonly status: 'ready' | 'backing off' | 'circuit open' | 'server not ready'
  readonly failures: number
  readonly backoffLevel: number
  readonly maxLevel: number
  readonly breaker: BufferState['breaker']
  readonly nextAttemptInMs: number
  readonly lastSuccessTime: number | null
  readonly pending: number
  readonly bytes: number
  readonly oldestAgeMs: number | null
  readonly owner: { readonly pid: number; readonly epoch: number; readonly isActive: boolean } | null
  readonly rejectedFiles: readonly string[]
  readonly unreadableFiles: readonly string[]
  readonly lastCapacity: BufferState['lastCapacity']
}

function statusOf(dir: string, state: BufferState, buffer: BufferReport, nowMs: number): Status {
  const { breaker, nextAttemptInMs } = state
  const { owner, oldestMs } = buffer
  return {
    dir,
    status: nextAttemptInMs === 0 ? 'ready' : breaker === 'open' ? 'circuit open' : waitingFor(state),
    failures: state.consecutiveFailures,
    backoffLevel: state.backoffLevel,
    maxLevel: state.maxBackoffLevel,
    breaker,
    nextAttemptInMs,
    lastSuccessTime: state.lastSuccessTime,
    pending: buffer.pending,
    bytes: buffer.bytes,
    oldestAgeMs: oldestMs === null ? null : Math.max(0, nowMs - oldestMs),
    owner: owner === null ? null : { pid: owner.pid, epoch: owner.epoch, isActive: owner.isActive },
    rejectedFiles: buffer.rejectedFiles,
    unreadableFiles: buffer.unreadableFiles,
    lastCapacity: state.lastCapacity,
  }
}

function waitingFor({ lastCapacity, consecutiveFailures }: BufferState): Status['status'] {
  return lastCapacity?.ready === false && consecutiveFailures === 0 ? 'server not ready' : 'backing off'
}

/** The screen of `sluice shipper status`. */
function statusLines(status: Status, style: Style, nowMs: number): string[] {
  const shown = {
    ready: style.good('Ready'),
    'backing off': style.warn('Backing Off'),
    'circuit open': style.bad('Circuit Open'),
    'server not ready': style.warn('Server Not Ready'),
  }
  const { lastSuccessTime, oldestAgeMs, pending, lastCapacity, owner } = status
  const oldest = oldestAgeMs === null ? '' : style.faint(`  the oldest from ${duration(oldestAgeMs)} ago`)
  const rows = [
    ['Status', shown[status.status]],
    ['Failures', `${count(status.failures)} consecutive`],
    ['Backoff level', `${status.backoffLevel}/${status.maxLevel}`],
    ['Next attempt in', status.nextAttemptInMs === 0 ? 'now' : short(Math.ceil(status.nextAttemptInMs / 1000) * 1000)],
    ['Last success', lastSuccessTime === null ? 'never' : `${short(Math.max(0, nowMs - lastSuccessTime))} ago`],
    ['Pending events', `${status.unreadableFiles.length > 0 ? 'at least ' : ''}${count(pending)}${oldest}`],
    ...(owner?.isActive === true ? [['Shipped by', `process ${owner.pid}`]] : []),
    ...(status.unreadableFiles.length > 0 ? [['Cannot be read', style.bad(status.unreadableFiles.join(', '))]] : []),
    ...(status.rejectedFiles.length > 0 ? [['Set aside', status.rejectedFiles.join(', ')]] : []),
  ]
  return [
    style.strong('Backpressure Status'),
    ...table(rows),
    '',
    style.strong('Last Server Response:'),
    ...(lastCapacity === null ? ['  none yet'] : table(capacityRows(lastCapacity, style))),
  ]
}

function capacityRows(capacity: NonNullable<Status['lastCapacity']>, style: Style): string[][] {
  return [
    ['Ready', capacity.ready ? style.good('Yes') : style.warn('No')],
    // Nothing may be sent to a server that is not ready.
    ['Max batch', count(capacity.ready ? capacity.maxBatchSize : 0)],
    ['Delay between', short(capacity.delayBetweenBatches)],
    ['Server load', capacity.loadPercent === null ? 'unknown' : `${Math.round(capacity.loadPercent)}%`],
    ...(capacity.message === null ? [] : [['Message', safe(capacity.message)]]),
  ]
}

/** `6s` and `500ms`, as people write them. */
const short = (ms: number): string => duration(ms).replace(/(\d) ([a-z])/g, '$1$2')

const table = (rows: readonly (readonly string[])[]): string[] =>
  columns(rows.map(([name = '', value = '']) => [`  ${name}:`, value]))
