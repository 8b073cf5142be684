import type { Units } from '../messages.ts'

/** A call that waits, or that was granted. */
export interface WaiterRecord {
  readonly id: string
  readonly owner: string
  readonly caller: string
  readonly tenant: string
  readonly scope: string
  /** Waiters of a tenant go by this, then by arrival. */
  readonly order: number
  readonly seq: number
  readonly units: Units
  readonly arrivalUs: number
  /** What it costs its caller and its tenant in virtual time. */
  readonly charge: number
  readonly tenantCharge: number
}

const comesBefore = (a: WaiterRecord, b: WaiterRecord): boolean =>
  a.order < b.order || (a.order === b.order && a.seq < b.seq)

/** The waiters of one tenant in order. Most join at the end and leave at the front. */
class TenantQueue {
  #waiters: WaiterRecord[] = []
  #head = 0

  get length(): number {
    return this.#waiters.length - this.#head
  }

  get first(): WaiterRecord | undefined {
    return this.#waiters[this.#head]
  }

  /** The first of them, at most so many. */
  upTo(count: number): readonly WaiterRecord[] {
    return this.#waiters.slice(this.#head, this.#head + count)
  }

  add(waiter: WaiterRecord): void {
    const at = this.#indexOf(waiter)
    if (at === this.#waiters.length) this.#waiters.push(waiter)
    else this.#waiters.splice(at, 0, waiter)
  }

  /** How many would be before it. */
  rankOf(waiter: WaiterRecord): number {
    return this.#indexOf(waiter) - this.#head
  }

  remove(waiter: WaiterRecord): boolean {
    const at = this.#indexOf(waiter)
    if (this.#waiters[at]?.id !== waiter.id) return false
    if (at !== this.#head) this.#waiters.splice(at, 1)
    else {
      this.#head += 1
      // Slots of waiters that left the front are removed from time to time, all at once.
      if (this.#head > 64 && this.#head * 2 > this.#waiters.length) {
        this.#waiters = this.#waiters.slice(this.#head)
        this.#head = 0
      }
    }
    return true
  }

  #indexOf(waiter: WaiterRecord): number {
    let low = this.#head
    let high = this.#waiters.length
    // A waiter that belongs at the end needs no search.
    if (high > low && comesBefore(this.#waiters[high - 1]!, waiter)) return high
    while (low < high) {
      const middle = (low + high) >> 1
      if (comesBefore(this.#waiters[middle]!, waiter)) low = middle + 1
      else high = middle
    }
    return low
  }
}

/** A caller or a tenant that waits, or that was served a moment ago. */
interface Share {
  /** In virtual time, where its next service starts. */
  tag: number
  waiting: number
}

interface TenantShare extends Share {
  readonly queue: TenantQueue
}

interface CallerShare extends Share {
  readonly tenants: Shares<TenantShare>
}

/** Those that share something, and virtual time among them: the start of the service given last. */
interface Shares<Each extends Share> {
  readonly all: Map<string, Each>
  /** Those of them that wait. */
  readonly active: Map<string, Each>
  virtual: number
}

/** Who waits: fair between callers first, then between the tenants of one caller, in order within a tenant. */
export interface FairQueue {
  waiting: number
  /** How many tenants wait. */
  tenants: number
  readonly callers: Shares<CallerShare>
  /** Units that wait, by unit. */
  readonly units: Map<string, number>
}

export function newQueue(): FairQueue {
  return { waiting: 0, tenants: 0, callers: newShares(), units: new Map() }
}

function newShares<Each extends Share>(): Shares<Each> {
  return { all: new Map(), active: new Map(), virtual: 0 }
}

/** One that was idle starts at the present virtual time: it has no credit from before. */
function join<Each extends Share>(shares: Shares<Each>, name: string, make: () => Each): Each {
  let share = shares.all.get(name)
  if (share === undefined) {
    if (shares.all.size >= 1000) forgetIdle(shares)
    share = make()
    shares.all.set(name, share)
  }
  if (share.waiting === 0) {
    share.tag = Math.max(share.tag, shares.virtual)
    shares.active.set(name, share)
  }
  share.waiting += 1
  return share
}

function leave<Each extends Share>(shares: Shares<Each>, name: string, share: Each): void {
  share.waiting -= 1
  if (share.waiting === 0) shares.active.delete(name)
}

/** A new one would start at the same point, so what it was charged before no longer matters. */
function forgetIdle<Each extends Share>({ all, virtual }: Shares<Each>): void {
  for (const [name, { tag, waiting }] of all) if (waiting === 0 && tag <= virtual) all.delete(name)
}

/** By tag; names that are the same there go by their bytes, as Redis compares. */
function first<Each extends Share>({ active }: Shares<Each>): Each | undefined {
  let best: [string, Each] | undefined
  for (const entry of active) {
    const difference = best === undefined ? -1 : entry[1].tag - best[1].tag
    if (difference < 0 || (difference === 0 && entry[0] < best![0])) best = entry
  }
  return best?.[1]
}

const callerOf = ({ callers }: FairQueue, { caller }: WaiterRecord): CallerShare | undefined => callers.all.get(caller)

export function enqueue(queue: FairQueue, waiter: WaiterRecord): void {
  const caller = join<CallerShare>(queue.callers, waiter.caller, () => ({ tag: 0, waiting: 0, tenants: newShares() }))
  const tenant = join<TenantShare>(caller.tenants, waiter.tenant, () => ({
    tag: 0,
    waiting: 0,
    queue: new TenantQueue(),
  }))
  if (tenant.waiting === 1) queue.tenants += 1
  tenant.queue.add(waiter)
  queue.waiting += 1
  for (const [unit, units] of Object.entries(waiter.units)) queue.units.set(unit, (queue.units.get(unit) ?? 0) + units)
}

/** Takes a waiter out of the queue; false when it is not in it. */
export function dequeue(queue: FairQueue, waiter: WaiterRecord): boolean {
  const caller = callerOf(queue, waiter)
  const tenant = caller?.tenants.all.get(waiter.tenant)
  if (!caller || !tenant?.queue.remove(waiter)) return false
  leave(caller.tenants, waiter.tenant, tenant)
  leave(queue.callers, waiter.caller, caller)
  if (tenant.waiting === 0) queue.tenants -= 1
  queue.waiting -= 1
  for (const [unit, units] of Object.entries(waiter.units)) queue.units.set(unit, queue.units.get(unit)! - units)
  return true
}

/** Whose turn it is. */
export function firstWaiter(queue: FairQueue): WaiterRecord | undefined {
  const caller = first(queue.callers)
  return caller && first(caller.tenants)?.queue.first
}

/** Charges the caller and the tenant of a waiter for its turn, while it still waits. */
export function charge(queue: FairQueue, waiter: WaiterRecord): void {
  const caller = callerOf(queue, waiter)!
  const tenant = caller.tenants.all.get(waiter.tenant)!
  // Virtual time always moves on, so that new waiters come after those who already waited.
  queue.callers.virtual = Math.max(queue.callers.virtual + 1, caller.tag)
  caller.tenants.virtual = Math.max(caller.tenants.virtual + 1, tenant.tag)
  caller.tag += waiter.charge
  tenant.tag += waiter.tenantCharge
}

/** Undoes the charge for a turn that was not used. */
export function refund(queue: FairQueue, waiter: WaiterRecord): void {
  const caller = callerOf(queue, waiter)
  const tenant = caller?.tenants.all.get(waiter.tenant)
  if (caller) caller.tag -= waiter.charge
  if (tenant) tenant.tag -= waiter.tenantCharge
}

/** How many of one caller wait, or of one of its tenants. */
export function waitingOf({ callers }: FairQueue, caller: string, tenant?: string): number {
  const own = callers.all.get(caller)
  return (tenant === undefined ? own : own?.tenants.all.get(tenant))?.waiting ?? 0
}

/**
 * How many calls are served before one, if all tenants weigh the same: those of its own tenant, and as many of each
 * other one.
 */
export function aheadOf(queue: FairQueue, waiter: WaiterRecord): number {
  const tenant = callerOf(queue, waiter)?.tenants.all.get(waiter.tenant)
  const [own, rank] = [tenant?.waiting ?? 0, tenant?.queue.rankOf(waiter) ?? 0]
  const others = queue.tenants - (own > 0 ? 1 : 0)
  return rank + Math.min(queue.waiting - own, (rank + 1) * others)
}

/** No more than this are looked at to find the first waiter of a process. */
const mostLooked = 64

/**
 * How many come before the first waiter of a process, at least: in the only tenant of the only caller all those before
 * it; otherwise one of each that is served before.
 */
export function leastAhead(queue: FairQueue, owner: string): number {
  const { active: callers } = queue.callers
  const [only] = callers.values()
  if (only === undefined) return 0
  const heads =
    callers.size > 1
      ? sorted(callers).map((caller) => first(caller.tenants)!.queue.first!)
      : only.tenants.active.size > 1
        ? sorted(only.tenants.active).map((tenant) => tenant.queue.first!)
        : first(only.tenants)!.queue.upTo(mostLooked)
  const at = heads.findIndex((head) => head.owner === owner)
  return at < 0 ? heads.length : at
}

function sorted<Each extends Share>(active: ReadonlyMap<string, Each>): readonly Each[] {
  const entries = [...active].sort(([a, x], [b, y]) => x.tag - y.tag || (a < b ? -1 : 1))
  return entries.slice(0, mostLooked).map(([, share]) => share)
}
