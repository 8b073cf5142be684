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
  /** From seconds of that process to seconds since 1970. Fixed for as long as the two clocks agree within a second. */
  offset: number
  /** The offsets of its last reports in a row that differ by more than that. */
  others: readonly number[]
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
/** After so many reports in a row a clock has moved: a process was suspended, or one clock runs slower. */
const movedAfter = 3
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
    const heardMs = nowMs - ageMs
    const known = this.#replicas.get(replica)
    const { offset, others } = placed(known, Math.floor(heardMs / 1000) - second)
    if (known !== undefined && others.length > 0) {
      // Later reports have these seconds, too.
      this.#replicas.set(replica, { ...known, others, heardMs })
      return
    }
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
    this.#replicas.set(replica, { offset, others, upTo, heardMs })
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

/**
 * Where the seconds of a process are by a report that puts them at `offset`. A difference of one comes from where
 * within ours they begin; a larger one may be a single report that was delayed. A delay puts seconds too late and never
 * too early, so the earliest is right.
 */
function placed(known: Replica | undefined, offset: number): Pick<Replica, 'offset' | 'others'> {
  if (known === undefined) return { offset, others: [] }
  if (Math.abs(offset - known.offset) <= 1) return { offset: known.offset, others: [] }
  const others = [...known.others, offset]
  return others.length < movedAfter ? { offset: known.offset, others } : { offset: Math.min(...others), others: [] }
}

function none(): Counts {
  return { allowed: 0, denied: 0, degraded: 0 }
}
