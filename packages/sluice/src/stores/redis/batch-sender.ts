import { StoreError } from '../../core/errors.ts'
import type { RedisConnection } from '../../redis/client.ts'
import { isMissingScript, isOnTheMove, redisFailure } from '../../redis/failure.ts'
import { ServerTime } from '../../redis/server-time.ts'
import type { Deadlines } from '../../timing/deadlines.ts'
import type { StoreObserver } from '../store.ts'
import type { Batch } from './batch.ts'
import { noSlot } from './keys.ts'
import { decide as decideScript } from './scripts.gen.ts'

/** How often a batch may be sent again because the server said it was too late by its clock and so did nothing. */
const maxAttempts = 5
/** Until keys that are half-way between two cluster nodes are asked for again. */
const tryAgainMs = 20
/** How many asks of lost calls are settled before others have their turn. */
const failuresPerTurn = 256

/** Sends batches, each as one script call, and sees every one of them to its end: the reply, a failure or its deadline. */
export class BatchSender {
  readonly #connection: RedisConnection
  readonly #deadlines: Deadlines
  readonly #socketTimeoutMs: number
  readonly #times = new Map<string, ServerTime>()
  #generation = 0
  /** By node: the call that brings the script to it. */
  readonly #loading = new Map<string, Promise<unknown>>()
  /** When each call was sent that has no reply yet; the oldest first. */
  readonly #unanswered = new Set<{ readonly sentMs: number }>()
  /** Batches whose connection was lost, about to be told so. */
  readonly #failing: (readonly [Batch, StoreError])[] = []
  #inFlight = 0
  /** Called when none is under way any more. */
  #drained: (() => void) | undefined
  #attempted = false
  #observer: StoreObserver | undefined

  constructor(connection: RedisConnection, deadlines: Deadlines, socketTimeoutMs: number) {
    this.#connection = connection
    this.#deadlines = deadlines
    this.#socketTimeoutMs = socketTimeoutMs
    connection.attempted.then(() => {
      this.#attempted = true
    })
  }

  /** How many batches have been sent and have not come to their end. */
  get inFlight(): number {
    return this.#inFlight
  }

  watch(observer: StoreObserver): void {
    this.#observer = observer
  }

  /** Resolves when none is under way, which is at the last deadline at the latest. */
  async drain(): Promise<void> {
    if (this.#inFlight === 0) return
    await new Promise<void>((resolve) => {
      this.#drained = resolve
    })
  }

  send(slot: number, batch: Batch): void {
    this.#inFlight += 1
    batch.expiry = this.#deadlines.add(batch.deadlineMs, () =>
      this.#end(batch, new StoreError('timeout', 'Redis did not answer before the deadline.')),
    )
    if (this.#attempted) this.#call(slot, batch, 1)
    else this.#connection.attempted.then(() => this.#call(slot, batch, 1))
  }

  /** A batch ends once: with its reply, or with whatever comes first of failure and deadline. */
  #end(batch: Batch, failure?: StoreError): void {
    if (batch.expiry === undefined) return
    batch.expiry()
    batch.expiry = undefined
    if (failure !== undefined) batch.fail(failure)
    this.#inFlight -= 1
    if (this.#inFlight === 0) this.#drained?.()
  }

  /**
   * A lost connection fails all calls under way at once. Settled together, thousands of decisions would hold each other up past their
   * deadlines; so a few at a time are, those that were sent first first.
   */
  #failInTurn(batch: Batch, failure: StoreError): void {
    if (this.#failing.push([batch, failure]) === 1) setImmediate(() => this.#failSome())
  }

  #failSome(): void {
    let some = 0
    let asks = 0
    while (some < this.#failing.length && asks < failuresPerTurn) {
      const [batch, failure] = this.#failing[some++]!
      asks += batch.size
      this.#end(batch, failure)
    }
    this.#failing.splice(0, some)
    if (this.#failing.length > 0) setImmediate(() => this.#failSome())
  }

  /** `told` is the clock of the server that has just told only its time, in case the next one to answer is not known yet. */
  #call(slot: number, batch: Batch, attempt: number, told?: ServerTime): void {
    const sentMs = performance.now()
    // The deadline has settled it, or is about to.
    if (sentMs >= batch.deadlineMs) return
    const time = this.#timeOf(slot)
    const known = time.at(sentMs) === undefined ? told : time
    const call = { sentMs }
    this.#unanswered.add(call)
    const deadlineMs = Math.min(batch.deadlineMs, this.#givenUpMs())
    const args = batch.args(Math.floor((known?.at(deadlineMs) ?? 0) * 1000), known?.at(sentMs) ?? Date.now())
    this.#run(slot, batch, args).then(
      (reply) => {
        this.#unanswered.delete(call)
        this.#replied(slot, batch, attempt, time, sentMs, reply)
      },
      (error) => {
        this.#unanswered.delete(call)
        this.#failInTurn(batch, redisFailure(error))
      },
    )
  }

  #replied(slot: number, batch: Batch, attempt: number, time: ServerTime, sentMs: number, reply: Buffer): void {
    try {
      const receivedMs = performance.now()
      const { decided, nowUs } = batch.settle(reply)
      time.learn(nowUs, sentMs, receivedMs)
      this.#observer?.roundTrip?.(batch.size, receivedMs - sentMs)
      if (decided) this.#end(batch)
      else if (attempt < maxAttempts) this.#call(slot, batch, attempt + 1, time)
      else this.#end(batch, new StoreError('timeout', "Redis' clock says that every attempt came too late."))
    } catch (error) {
      this.#end(batch, redisFailure(error))
    }
  }

  /**
   * When the connection will be given up, at the earliest, for the silence that the oldest call meets. Calls fail with it before their
   * own deadlines; a server that wakes up after that must not run them.
   */
  #givenUpMs(): number {
    for (const { sentMs } of this.#unanswered) return sentMs + this.#socketTimeoutMs
    return Infinity
  }

  #run(slot: number, batch: Batch, args: readonly string[]): Promise<Buffer> {
    return this.#connection
      .run(decideScript, batch.keys, args)
      .catch((error) => this.#runAgain(slot, batch, args, error))
  }

  /** Sends again only what the server says it did not run. */
  async #runAgain(slot: number, batch: Batch, args: readonly string[], error: unknown): Promise<Buffer> {
    if (isMissingScript(error)) return this.#load(slot, batch, args)
    if (!isOnTheMove(error) || performance.now() + tryAgainMs >= batch.deadlineMs) throw error
    await new Promise((resolve) => setTimeout(resolve, tryAgainMs))
    return this.#run(slot, batch, args)
  }

  /** One call brings the script along; others that miss it on the same node wait for that, and need not send it too. */
  async #load(slot: number, batch: Batch, args: readonly string[]): Promise<Buffer> {
    const node = this.#connection.nodeOf(slot)
    const under = this.#loading.get(node)
    if (under !== undefined) {
      await under.catch(() => undefined)
      return this.#run(slot, batch, args)
    }
    const loading = this.#connection.load(decideScript, batch.keys, args)
    this.#loading.set(node, loading)
    try {
      return await loading
    } finally {
      this.#loading.delete(node)
    }
  }

  #timeOf(slot: number): ServerTime {
    const { generation } = this.#connection
    if (generation !== this.#generation) {
      // A new connection may lead to another server, whose clock is another: a deadline by the old one could be far too late.
      this.#generation = generation
      this.#times.clear()
    }
    const node = slot === noSlot ? '' : this.#connection.nodeOf(slot)
    let time = this.#times.get(node)
    if (time === undefined) {
      time = new ServerTime()
      this.#times.set(node, time)
    }
    return time
  }
}
