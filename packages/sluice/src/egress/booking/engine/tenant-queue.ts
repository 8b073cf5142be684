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
export class TenantQueue {
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
