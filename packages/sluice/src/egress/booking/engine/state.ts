import { statedUs } from '../constants.ts'
import type { BookedLimit, Units } from '../messages.ts'
import { enter, expire, type Limit, type LimitLog, limitOf, periodOf, unitOf } from './log.ts'
import { type FairQueue, newQueue, type WaiterRecord } from './queue.ts'

export interface GrantRecord {
  readonly units: Units
  /** The exchange that granted it, and the call. */
  readonly no: number
  readonly id: string
  /** The latest moment at which the call can have arrived, in shared time. */
  arrivesUs: number
}

/** A process that uses the upstream. */
export interface OwnerRecord {
  seenUs: number
  /** Its latest exchange. */
  no: number
  /** Calls that were granted to it and that ended: the difference is in flight. Both only grow. */
  granted: number
  ended: number
  /** The limits that it stated last. */
  limits: readonly BookedLimit[]
  /** It was silent for so long that its waiters were dropped. */
  isGone: boolean
  hasLeft: boolean
}

export interface PauseRecord {
  startedUs: number
  untilUs: number
  /** How often in a row the vendor refused without saying for how long. */
  level: number
  refused: boolean
}

/**
 * Shared time. `timeUs` is the server's clock, corrected where it is known to have gained; what is entered is entered
 * with it. `verifiedUs` is never later, and decides: it advances only as far as the clock of the process that asks
 * agrees. So neither clock alone can make a period shorter.
 */
export interface SharedTime {
  timeUs: number
  verifiedUs: number
  offsetUs: number
  /** What was cut because nobody verified it. */
  lostUs: number
  /** Grows when time was lost: what processes knew about shared time before is void. */
  epoch: number
  /** The server's clock and the wall clock of the process at the last exchange that verified time. */
  rawUs: number
  wallMs: number
}

/** The state of one upstream, shared by all processes that call it. Changed only by `exchange`. */
export interface UpstreamState {
  readonly marker: string
  readonly time: SharedTime
  /** Since when all calls are known; 0 for always. */
  readonly startUs: number
  /** Nothing is granted before this. */
  readonly openUs: number
  seq: number
  numbers: number
  readonly logs: Map<string, LimitLog>
  readonly owners: Map<string, OwnerRecord>
  /** By process: its grants of which more will be reported. */
  readonly grants: Map<string, Map<string, GrantRecord>>
  readonly waiters: Map<string, WaiterRecord>
  /** Waiters whose turn it is, and since when; their processes have not asked yet. */
  due: { readonly waiter: WaiterRecord; readonly sinceUs: number }[]
  readonly queue: FairQueue
  readonly pauses: Map<string, PauseRecord>
  /** No grant counts beyond this that may take longer to arrive than most. */
  longUntilUs: number
  widenedUs: number
  widenedUntilUs: number

  retryTokens: number
  retryUs: number
}

/** `startUs` is 0 for a state that has seen every call; otherwise nothing is granted until `openUs`. */
export function newState(nowUs: number, marker = '', startUs = 0, openUs = 0): UpstreamState {
  return {
    marker,
    time: { timeUs: nowUs, verifiedUs: nowUs, offsetUs: 0, lostUs: 0, epoch: 0, rawUs: nowUs, wallMs: 0 },
    startUs,
    openUs,
    seq: 0,
    numbers: 0,
    logs: new Map(),
    owners: new Map(),
    grants: new Map(),
    waiters: new Map(),
    due: [],
    queue: newQueue(),
    pauses: new Map(),
    longUntilUs: 0,
    widenedUs: 0,
    widenedUntilUs: 0,
    retryTokens: 0,
    // A fleet that has just started may retry what the floor allows in a second.
    retryUs: nowUs - 1_000_000,
  }
}

/**
 * The limits that hold now: the strictest of those that processes stated which were seen lately. During a rollout that
 * is both the old limits and the new ones. Sorted by key.
 */
export function limitsInForce({ owners, time }: UpstreamState): readonly Limit[] {
  const strictest = new Map<string, Limit>()
  for (const { limits, seenUs } of owners.values()) {
    if (time.verifiedUs - seenUs >= statedUs) continue
    for (const { key, amount } of limits) {
      const known = strictest.get(key)
      if (known === undefined || amount < known.amount) strictest.set(key, limitOf(key, amount))
    }
  }
  return [...strictest.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
}

/** Gives each limit with a period its log, drops those that nobody states any more, and forgets what has passed. */
export function keepLogs(state: UpstreamState, limits: readonly Limit[]): void {
  const { logs, time } = state
  const before = [...logs.keys()]
  for (const limit of limits) {
    if (limit.periodMs > 0 && !logs.has(limit.key)) logs.set(limit.key, filledLog(state, limit, before))
  }
  for (const [key, log] of logs) {
    const limit = limits.find((each) => each.key === key)
    if (limit === undefined) logs.delete(key)
    else expire(log, limit, time.verifiedUs)
  }
}

/**
 * The log of a limit that was not there before. It starts with what other limits know of the same unit: the shortest
 * that reaches far enough, or the longest. It is complete only from where that one begins.
 */
function filledLog({ logs, startUs, time }: UpstreamState, limit: Limit, before: readonly string[]): LimitLog {
  const sinceUs = before.length === 0 ? startUs : time.timeUs
  const log: LimitLog = { entries: [], total: 0, sinceUs, mirroredUs: 0, fullUs: 0 }
  const same = before.filter((key) => unitOf(key) === limit.unit)
  same.sort((a, b) => periodOf(a) - periodOf(b))
  const source = same.find((key) => periodOf(key) >= limit.periodMs) ?? same.at(-1)
  if (source === undefined) return log
  const known = logs.get(source)!
  for (const { arrivesUs, units, leastUs } of known.entries) enter(log, limit, arrivesUs, units, leastUs)
  const reachesUs = time.verifiedUs - periodOf(source) * 1000
  log.sinceUs = periodOf(source) >= limit.periodMs ? known.sinceUs : Math.max(known.sinceUs, reachesUs)
  return log
}
