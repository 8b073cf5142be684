import type { Clock } from '../../core/clock.ts'
import { runInMicrotask } from '../../runtime/microtask.ts'
import { noSlot } from '../slots.ts'

/** What one call carries: items that were asked for together. */
export interface TickBatch<Item, Waiter> {
  /** The deadline that all of its items were given. */
  readonly withinMs: number
  /** Whether it must be sent before more can be added. */
  readonly isFull: boolean
  /** Whether it is large enough to be sent at once when no call is in flight. */
  readonly isEnoughToStart: boolean
  add(item: Item, waiter: Waiter): void
}

export interface TickBatcherOptions<Batch> {
  /** Makes a batch without items. */
  make(slot: number, withinMs: number): Batch
  /** Sends a batch. `ended()` must be called for each, once. */
  send(batch: Batch): void
  /** For items that nobody waits for: gathers them for so long instead of one turn of the event loop. */
  readonly gather?: { readonly ms: number; readonly clock: Clock }
}

/**
 * Gathers what is asked for in one turn of the event loop into one call per cluster slot.
 *
 * @example
 * const batcher = new TickBatcher({ make: makeBatch, send: (batch) => sendBatch(batch) })
 * batcher.add(0, 500, 'an item', 'its waiter')
 * // in settle and fail of the batch: batcher.ended()
 */
export class TickBatcher<Item, Waiter, Batch extends TickBatch<Item, Waiter>> {
  readonly #make: TickBatcherOptions<Batch>['make']
  readonly #send: TickBatcherOptions<Batch>['send']
  readonly #gather: TickBatcherOptions<Batch>['gather']
  /** The batch of the slot that was last asked for, if it has not been sent. Only a cluster has other slots. */
  #open: Batch | undefined
  #slot = noSlot
  /** By slot: the other batches that have not been sent. */
  readonly #others = new Map<number, Batch>()
  /** Whether the open batches are going to be sent. */
  #isScheduled = false
  /** Whether waiting for the end of the turn gathered more items the last time. */
  #waitingPays = false
  /** How many items were ever added. */
  #added = 0
  #inFlight = 0
  /** The callers that wait until nothing is in flight. */
  #draining: (() => void)[] = []

  constructor({ make, send, gather }: TickBatcherOptions<Batch>) {
    this.#make = make
    this.#send = send
    this.#gather = gather
  }

  add(slot: number, withinMs: number, item: Item, waiter: Waiter): void {
    if (slot !== this.#slot) this.#turnTo(slot)
    // Items with different deadlines must neither wait for each other nor shorten each other's time.
    if (this.#open !== undefined && this.#open.withinMs !== withinMs) {
      this.#start(this.#open)
      this.#open = undefined
    }
    this.#open ??= this.#make(slot, withinMs)
    const batch = this.#open
    batch.add(item, waiter)
    this.#added += 1
    if (batch.isFull || (this.#inFlight === 0 && batch.isEnoughToStart)) {
      this.#open = undefined
      this.#start(batch)
    } else if (!this.#isScheduled) {
      this.#isScheduled = true
      if (this.#gather === undefined) runInMicrotask(this.#flushSoon)
      else this.#gather.clock.setTimeout(this.flush, this.#gather.ms)
    }
  }

  /** A batch that was sent has ended. */
  ended(): void {
    this.#inFlight -= 1
    if (this.#inFlight === 0) for (const drained of this.#draining.splice(0)) drained()
  }

  /** Sends what is open and waits until everything has ended, which is at the last deadline at the latest. */
  async drain(): Promise<void> {
    while (this.#inFlight > 0 || this.#open !== undefined || this.#others.size > 0) {
      this.flush()
      if (this.#inFlight === 0) continue
      await new Promise<void>((resolve) => this.#draining.push(resolve))
    }
  }

  #turnTo(slot: number): void {
    if (this.#open !== undefined) this.#others.set(this.#slot, this.#open)
    this.#open = this.#others.get(slot)
    this.#others.delete(slot)
    this.#slot = slot
  }

  #start(batch: Batch): void {
    this.#inFlight += 1
    this.#send(batch)
  }

  /**
   * Requests that arrive on different sockets ask in different microtasks of one turn of the event loop; waiting for
   * its end lets them share a call. A lone item is sent at once: we wait only while calls are in flight, or if the last
   * wait gathered more items.
   */
  readonly #flushSoon = (): void => {
    if (this.#inFlight === 0 && !this.#waitingPays) {
      this.flush()
      return
    }
    const added = this.#added
    setImmediate(() => {
      this.#waitingPays = this.#added > added
      this.flush()
    })
  }

  /** Sends what is open. */
  readonly flush = (): void => {
    this.#isScheduled = false
    const open = this.#open
    this.#open = undefined
    if (this.#others.size > 0) {
      const others = [...this.#others.values()]
      this.#others.clear()
      for (const batch of others) this.#start(batch)
    }
    if (open !== undefined) this.#start(open)
  }
}
