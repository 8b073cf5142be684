import type { Groups } from './groups.ts'
import type { Units } from './messages.ts'
import type { TenantQueue, WaiterRecord } from './tenant-queue.ts'

/** A call that has or had a place. */
export interface CallRecord {
  readonly owner: string
  /** Assigned places wait to be confirmed, held ones may be sent on, answered ones occupy what is in flight only. */
  phase: 'assigned' | 'held' | 'answered'
  /** When an assigned place goes to the next waiter, or the request of a dead holder has surely arrived. */
  untilMs: number
  /** Units by limit. */
  units: Readonly<Record<string, number>>
  /** By limit, the group its units went to when it was answered. */
  ticks: Readonly<Record<string, string>>
}

/** A tenant that waits, or that was served a moment ago. */
export interface TenantRecord {
  /** In virtual time, where its next service starts. */
  tag: number
  readonly queue: TenantQueue
}

export interface PauseRecord {
  startedMs: number
  untilMs: number
  /** How often in a row the vendor refused without saying for how long. */
  level: number
}

/** The state of one upstream, shared by all processes that call it. Changed only by `exchange`. */
export interface UpstreamState {
  epoch: string
  recovering: boolean
  /** The latest time seen, and how far the server's clock has jumped ahead of what processes measured. */
  lastMs: number
  skewMs: number
  seq: number
  /** Virtual time: the start of the service given last. */
  virtual: number
  waiting: number
  readonly used: Map<string, number>
  readonly queued: Map<string, number>
  readonly calls: Map<string, CallRecord>
  /**
   * By process: its waiters with assigned places that are not confirmed yet, and those that were passed over since it
   * became silent, which have no place.
   */
  readonly assigned: Map<string, Set<string>>
  readonly groups: Groups
  /** By limit: when the units of those groups were answered, oldest first. */
  readonly answered: Map<string, [atMs: number, units: number][]>
  /** When each process exchanged last. */
  readonly owners: Map<string, number>
  readonly waiters: Map<string, WaiterRecord>
  readonly tenants: Map<string, TenantRecord>
  /** Those of them that wait. */
  readonly active: Map<string, TenantRecord>
  readonly pauses: Map<string, PauseRecord>
  /** Estimated bounds: by limit, when the next instant is; which instants were given; the last one of all. */
  readonly nextUs: Map<string, number>
  readonly logs: Map<string, (readonly [atUs: number, units: number])[]>
  lastInstantUs: number
  /** Instants on which nothing was sent, in order. */
  returned: { readonly atUs: number; readonly units: Units }[]
  /** By process: the instants of its last exchange, by id. */
  readonly instantsOf: Map<string, Readonly<Record<string, number>>>
  /** No call expires before this. */
  nextExpiryMs: number
  retryTokens: number
  retryMs: number
}

export function newState(nowMs: number, epoch = '', recovering = false): UpstreamState {
  return {
    epoch,
    recovering,
    lastMs: nowMs,
    skewMs: 0,
    seq: 0,
    virtual: 0,
    waiting: 0,
    used: new Map(),
    queued: new Map(),
    calls: new Map(),
    assigned: new Map(),
    groups: new Map(),
    answered: new Map(),
    owners: new Map(),
    waiters: new Map(),
    tenants: new Map(),
    active: new Map(),
    pauses: new Map(),
    nextUs: new Map(),
    logs: new Map(),
    lastInstantUs: 0,
    returned: [],
    instantsOf: new Map(),
    nextExpiryMs: Infinity,
    retryTokens: 0,
    // A fleet that has just started may retry what the floor allows in a second.
    retryMs: nowMs - 1000,
  }
}

/**
 * A process that was silent for so long counts as gone: its waiters are passed over and its answered places adopted.
 */
export const silentMs = 3000
/**
 * An assigned place that is not confirmed goes to the next waiter after this. Waiters of a process that was silent for
 * so long are passed over until it exchanges again.
 */
export const confirmMs = 2000
/** After a pause the rate rises to its full value over this time. */
export const rampMs = 4000
/** The last-seen time of a process that has left. */
export const leftMs = -1_000_000_000_000
/** A step of the server's clock beyond what a process measured counts as a jump if it is at least this long. */
export const leapMs = 1000

/** The groups of a call that is not answered. */
export const noTicks: CallRecord['ticks'] = Object.freeze({})

export function addCall(state: UpstreamState, id: string, call: CallRecord): void {
  state.calls.set(id, call)
  state.nextExpiryMs = Math.min(state.nextExpiryMs, call.untilMs)
}
