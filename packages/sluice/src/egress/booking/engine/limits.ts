import { statedUs } from '../constants.ts'
import type { BookedLimit } from '../messages.ts'
import { enter, expire, type Limit, type LimitLog, limitOf, periodOf, unitOf } from './log.ts'
import type { UpstreamState } from './state.ts'

/** Limits in one text, such as `requests/1000=25 in-flight=10`. */
export function limitsText(limits: readonly BookedLimit[]): string {
  return limits.map(({ key, amount }) => `${key}=${amount}`).join(' ')
}

function limitsOf(text: string): Limit[] {
  return text.split(' ').flatMap((one) => {
    const at = one.lastIndexOf('=')
    return at < 0 ? [] : [limitOf(one.slice(0, at), Number(one.slice(at + 1)))]
  })
}

/**
 * The limits that hold now: the strictest of those that processes stated which were seen lately. During a rollout that
 * is both the old limits and the new ones. Sorted by key.
 */
export function limitsInForce({ owners, time }: UpstreamState): readonly Limit[] {
  const texts = new Set<string>()
  for (const { limits, seenUs } of owners.values()) if (time.verifiedUs - seenUs < statedUs) texts.add(limits)
  const strictest = new Map<string, Limit>()
  for (const limit of [...texts].flatMap(limitsOf)) {
    const known = strictest.get(limit.key)
    if (known === undefined || limit.amount < known.amount) strictest.set(limit.key, limit)
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

/** Until when a limit is paced because its log is not complete yet. */
export function pacedUntilUs(log: LimitLog, { countedUs }: Limit): number {
  return log.sinceUs === 0 ? 0 : log.sinceUs + countedUs
}
