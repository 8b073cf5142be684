import type { DecisionCounts } from 'sluice/reports'

/** What one process says about its last seconds, the present one last and not yet whole. */
export interface ReportedSeconds {
  readonly replica: string
  readonly recent: readonly (readonly number[])[]
  /** The number of the present second by a clock of that process. */
  readonly second: number
  readonly ageMs: number
}

export interface FleetSecond extends DecisionCounts {
  /** Seconds since 1970. */
  readonly at: number
}

interface Replica {
  /** From seconds of that process to seconds since 1970. Fixed when it is first heard, so that no second moves. */
  readonly offset: number
  /** Its last second that was added. */
  upTo: number
  heardMs: number
}

/** How long a process counts as alive without a report, as for reports themselves. */
const aliveMs = 10_000
/** How long the reports of a silent process are remembered: longer than they reach back. */
const rememberMs = 120_000
/** How long a second waits for processes that have not reported it. Later reports correct it. */
const waitSeconds = 6
/** Nothing is known of seconds in which this process was suspended: they stay gaps. */
const mostAtOnce = 60
const keptSeconds = 15 * 60

type Counts = { -readonly [Name in keyof DecisionCounts]: DecisionCounts[Name] }

/**
 * Adds up the seconds of all processes. Reports overlap, so each second of each process is added once, by its number.
 */
export class FleetSeconds {
  readonly #replicas = new Map<string, Replica>()
  readonly #sums = new Map<number, Counts>()
  readonly #corrected = new Set<number>()
  #givenUpTo: number

  constructor(nowMs: number) {
    this.#givenUpTo = Math.floor(nowMs / 1000) - 1
  }

  add({ replica, recent, second, ageMs }: ReportedSeconds, nowMs: number): void {
    const known = this.#replicas.get(replica)
    const offset = known?.offset ?? Math.floor((nowMs - ageMs) / 1000) - second
    const present = Math.floor(nowMs / 1000)
    const oldest = second - Math.min(recent.length, mostAtOnce) + 1
    // Its seconds begin within ours, so that one that is whole there may not be here; it counts with the next report.
    const end = Math.min(second, present - offset)
    for (let each = Math.max(oldest, (known?.upTo ?? oldest - 1) + 1); each < end; each++) {
      const [allowed = 0, denied = 0, degraded = 0] = recent[recent.length - 1 - (second - each)] ?? []
      const at = each + offset
      // A process that numbers its seconds wrongly cannot fill the memory.
      if (at >= present - keptSeconds) this.#count(at, allowed, denied, degraded)
    }
    const upTo = Math.max(known?.upTo ?? 0, end - 1)
    this.#replicas.set(replica, { offset, upTo, heardMs: nowMs - ageMs })
  }

  /** The seconds that are complete now or were corrected, in order. */
  take(nowMs: number): FleetSecond[] {
    const present = Math.floor(nowMs / 1000)
    for (const [id, { heardMs }] of this.#replicas) if (nowMs - heardMs > rememberMs) this.#replicas.delete(id)
    const alive = [...this.#replicas.values()].filter(({ heardMs }) => nowMs - heardMs <= aliveMs)
    const told = Math.min(present - 1, ...alive.map(({ upTo, offset }) => upTo + offset))
    const upTo = Math.max(told, present - 1 - waitSeconds)
    const from = Math.max(this.#givenUpTo + 1, upTo - mostAtOnce + 1)
    const corrected = [...this.#corrected].sort((a, b) => a - b)
    this.#corrected.clear()
    const given = Array.from({ length: Math.max(0, upTo - from + 1) }, (_, i) => from + i)
    this.#givenUpTo = Math.max(this.#givenUpTo, upTo)
    for (const at of this.#sums.keys()) if (at < present - keptSeconds) this.#sums.delete(at)
    return [...corrected, ...given].map((at) => ({ at, ...(this.#sums.get(at) ?? none()) }))
  }

  #count(at: number, allowed: number, denied: number, degraded: number): void {
    if (allowed + denied + degraded === 0) return
    const sum = this.#sums.get(at) ?? none()
    sum.allowed += allowed
    sum.denied += denied
    sum.degraded += degraded
    this.#sums.set(at, sum)
    if (at <= this.#givenUpTo) this.#corrected.add(at)
  }
}

function none(): Counts {
  return { allowed: 0, denied: 0, degraded: 0 }
}
