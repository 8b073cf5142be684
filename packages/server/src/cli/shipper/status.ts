import type { BufferReport, BufferState } from 'sluice/shipper'
import { count, duration } from '../terminal/numbers.ts'
import type { Style } from '../terminal/style.ts'
import { columns, safe } from '../terminal/text.ts'

/** What `sluice shipper status --json` prints. */
export interface Status {
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

export function statusOf(dir: string, state: BufferState, buffer: BufferReport, nowMs: number): Status {
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
export function statusLines(status: Status, style: Style, nowMs: number): string[] {
  const paint = {
    ready: style.good,
    'backing off': style.warn,
    'circuit open': style.bad,
    'server not ready': style.warn,
  }
  const { lastSuccessTime, oldestAgeMs, pending, lastCapacity, owner } = status
  const oldest = oldestAgeMs === null ? '' : style.faint(`  the oldest from ${duration(oldestAgeMs)} ago`)
  const rows = [
    ['Status', paint[status.status](status.status)],
    ['Failures', count(status.failures)],
    ['Backoff level', `${status.backoffLevel}/${status.maxLevel}`],
    ['Next attempt in', status.nextAttemptInMs === 0 ? 'now' : duration(status.nextAttemptInMs)],
    ['Last success', lastSuccessTime === null ? 'never' : `${duration(Math.max(0, nowMs - lastSuccessTime))} ago`],
    ['Pending events', `${status.unreadableFiles.length > 0 ? 'at least ' : ''}${count(pending)}${oldest}`],
    ...(owner?.isActive === true ? [['Shipped by', `process ${owner.pid}`]] : []),
    ...(status.unreadableFiles.length > 0 ? [['Cannot be read', style.bad(status.unreadableFiles.join(', '))]] : []),
    ...(status.rejectedFiles.length > 0 ? [['Set aside', status.rejectedFiles.join(', ')]] : []),
  ]
  return [
    ...table(rows),
    '',
    style.strong('Last server response'),
    ...(lastCapacity === null ? ['  none yet'] : table(capacityRows(lastCapacity, style))),
  ]
}

function capacityRows(capacity: NonNullable<Status['lastCapacity']>, style: Style): string[][] {
  return [
    ['Ready', capacity.ready ? style.good('yes') : style.warn('no')],
    ['Max batch', count(capacity.maxBatchSize)],
    ['Delay between', duration(capacity.delayBetweenBatches)],
    ['Server load', capacity.loadPercent === null ? 'unknown' : `${Math.round(capacity.loadPercent)}%`],
    ...(capacity.message === null ? [] : [['Message', safe(capacity.message)]]),
  ]
}

const table = (rows: readonly (readonly string[])[]): string[] =>
  columns(rows.map(([name = '', value = '']) => [`  ${name}:`, value]))
