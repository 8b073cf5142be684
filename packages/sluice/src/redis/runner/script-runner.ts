import type { Clock } from '../../core/clock.ts'
import { StoreError } from '../../core/errors.ts'
import type { Deadline, Deadlines } from '../../runtime/deadlines.ts'
import { OwnLateness } from '../../runtime/own-lateness.ts'
import { SingleFlight } from '../../runtime/single-flight.ts'
import { sleep } from '../../runtime/sleep.ts'
import type { RedisArgument, RedisConnection } from '../connection/connection.ts'
import { isMissingScript, isOnTheMove, redisFailure } from '../failure.ts'
import { MsgpackReader } from '../msgpack.ts'
import { constants } from '../scripts.gen.ts'
import { noSlot, slotOf } from '../slots.ts'
import { FailingCalls } from './failing-calls.ts'
import { lateFailure, overloaded } from './late-call.ts'
import type { ReadCall } from './read-call.ts'
import type { ScriptCall } from './script-call.ts'
import { SendWindow } from './send-window.ts'
import { microsecondsOf, ServerTime } from './server-time.ts'

/** How often a call may be sent again because the server said it was too late by its clock and so did nothing. */
const maxAttempts = 5
/** How long to wait before asking again for keys that are being moved between two cluster nodes. */
const tryAgainMs = 20

const neverSent = { sentMs: -Infinity, lateMs: 0 }

/** A call in flight. */
interface Flight<Call extends ScriptCall | ReadCall = ScriptCall | ReadCall> {
  /**
   * Undefined when the call has ended. Without that, nearly half of what calls in flight together had carried survived
   * into the old generation of the heap (`node --trace-gc-nvp`, 64 in flight).
   */
  call: Call | undefined
  readonly slot: number
  /** When it was asked for. */
  readonly askedMs: number
  /** When it was first sent; `Infinity` before. */
  sentMs: number
  /** How late this process had been until it was run. */
  readonly lateMs: number
  expiry: Deadline | undefined
}

/** A server as this client knows it. */
interface Node {
  readonly time: ServerTime
  readonly window: SendWindow
}

/** Sends script calls over one connection and sees each of them to its end: its reply, a failure or its deadline. */
export class ScriptRunner {
  readonly #connection: RedisConnection
  readonly #deadlines: Deadlines
  readonly #clock: Clock
  readonly #socketTimeoutMs: number
  /** By address. */
  readonly #nodes = new Map<string, Node>()
  #generation = 0
  /** By node and script: the call that brings the script to the node. */
  readonly #loading = new SingleFlight<string, Buffer>()
  readonly #failing = new FailingCalls()
  readonly #lateness: OwnLateness
  /** How many calls have not ended. */
  #open = 0
  #attempted = false

  constructor(connection: RedisConnection, deadlines: Deadlines, clock: Clock, socketTimeoutMs: number) {
    this.#connection = connection
    this.#deadlines = deadlines
    this.#clock = clock
    this.#socketTimeoutMs = socketTimeoutMs
    this.#lateness = new OwnLateness(clock, () => this.#open > 0)
    connection.attempted.then(() => {
      this.#attempted = true
    })
  }

  run(call: ScriptCall): void {
    const slot = this.#connection.isCluster ? (call.slot ?? slotOf(call.keys[0] ?? '')) : noSlot
    const flight = this.#begin(call, slot)
    this.#inTurn(flight, () => this.#send(flight, 1))
  }

  read(call: ReadCall): void {
    const flight = this.#begin(call, noSlot)
    this.#inTurn(flight, () => this.#sendRead(flight))
  }

  #begin<Call extends ScriptCall | ReadCall>(call: Call, slot: number): Flight<Call> {
    const nowMs = this.#clock.monotonic()
    const askedMs = call.withinMs === undefined ? nowMs : call.deadlineMs - call.withinMs
    this.#open += 1
    this.#lateness.start()
    const flight: Flight<Call> = {
      call,
      slot,
      askedMs,
      sentMs: Infinity,
      lateMs: this.#lateness.at(nowMs),
      expiry: undefined,
    }
    flight.expiry = this.#deadlines.add(
      call.deadlineMs,
      (readMs) => this.#fail(flight, this.#whyLate(flight, readMs)),
      endsOnTime(call) ? undefined : this.#lateness,
    )
    return flight
  }

  /** Sends when the first attempt to connect has ended and the server has answered enough of what was sent before. */
  #inTurn(flight: Flight, send: () => void): void {
    if (!this.#attempted) {
      this.#connection.attempted.then(() => this.#inTurn(flight, send))
      return
    }
    const { window } = this.#nodeOf(flight.slot)
    if (window.isOpen) send()
    else
      window.wait(() => {
        const { call } = flight
        // Sent too late to be answered in time, it would be spent for nothing.
        const isTooLate = endsOnTime(call) && call.deadlineMs - this.#clock.monotonic() < 2 * window.tookMs
        if (isTooLate) this.#failInTurn(flight, overloaded())
        else send()
      })
  }

  #whyLate(flight: Flight, readMs: number): StoreError {
    const { call, slot, askedMs, sentMs } = flight
    // Without a connection it is the server that is not there.
    const oldest = this.#attempted ? this.#nodeOf(slot).window.oldest : neverSent
    const { deadlineMs } = call!
    const lateMs = this.#lateness.at(readMs)
    const owedMs = oldest === undefined ? 0 : readMs - oldest.sentMs - (lateMs - oldest.lateMs)
    return lateFailure({ askedMs, sentMs, deadlineMs, lateMs: lateMs - flight.lateMs }, readMs, owedMs)
  }

  /** Ends a call and returns it; undefined when it has ended before. */
  #end<Call extends ScriptCall | ReadCall>(flight: Flight<Call>): Call | undefined {
    const { call } = flight
    if (call !== undefined) this.#open -= 1
    flight.expiry?.cancel()
    flight.expiry = undefined
    flight.call = undefined
    return call
  }

  #fail(flight: Flight, failure: StoreError): void {
    this.#end(flight)?.fail(failure)
  }

  #failInTurn(flight: Flight, failure: StoreError): void {
    this.#failing.add(() => {
      const waiters = flight.call?.size ?? 1
      this.#fail(flight, failure)
      return waiters
    })
  }

  /**
   * `lastTime` is the clock of the node that has just said "too late"; used when that of the next node is not known
   * yet.
   */
  #send(flight: Flight<ScriptCall>, attempt: number, lastTime?: ServerTime): void {
    const { call, slot } = flight
    const sentMs = this.#clock.monotonic()
    // The deadline has failed it, or is about to.
    const endMs = endOf(flight, sentMs)
    if (call === undefined || sentMs >= endMs) return
    const { time, window } = this.#nodeOf(slot)
    const known = time.at(sentMs) === undefined ? lastTime : time
    flight.sentMs = Math.min(flight.sentMs, sentMs)
    const sent = window.sent(call.keys.length, sentMs, this.#lateness.at(sentMs))
    const deadlineMs = Math.min(endMs, this.#givenUpMs())
    // Without the server's time the deadline is 0: the script then only answers with its time.
    const deadlineUs = Math.floor((known?.at(deadlineMs) ?? 0) * 1000)
    const args = [String(deadlineUs), ...call.args(known?.at(sentMs) ?? this.#clock.now() / 1000)]
    const replied = (reply: Buffer): void => {
      window.replied(this.#clock.monotonic() - sentMs)
      window.ended(sent)
      this.#replied(flight, call, attempt, time, sentMs, reply)
    }
    const failed = (error: unknown): void => {
      this.#failInTurn(flight, redisFailure(error, call.script.source))
      window.ended(sent)
    }
    this.#connection
      .run(call.script, call.keys, args)
      .then(replied, (error) => this.#runAgain(call, slot, args, error).then(replied, failed))
  }

  #replied(
    flight: Flight<ScriptCall>,
    call: ScriptCall,
    attempt: number,
    time: ServerTime,
    sentMs: number,
    bytes: Buffer,
  ): void {
    const isOpen = flight.call !== undefined
    try {
      const receivedMs = this.#clock.monotonic()
      const reply = new MsgpackReader(bytes)
      const said = reply.read()
      const nowUs = reply.read()
      // Only a call that surely did nothing may be sent again.
      if ((said !== constants.RAN && said !== constants.NOT_RUN) || typeof nowUs !== 'number' || !(nowUs > 0))
        throw new StoreError('other', 'Redis answered with something that no script of Sluice returns.')
      time.learn(nowUs, sentMs, receivedMs)
      call.replied?.(receivedMs - sentMs)
      if (said === constants.RAN) {
        this.#end(flight)?.settle(reply, nowUs)
      } else if (receivedMs >= endOf(flight, receivedMs)) {
        // On time, the deadline would have failed it before: this process read the reply late.
        this.#fail(flight, overloaded())
      } else if (attempt < maxAttempts) this.#send(flight, attempt + 1, time)
      else {
        const why = isOpen ? this.#whyLate(flight, receivedMs).kind : undefined
        const text = "Redis' clock says that every attempt came too late."
        this.#fail(flight, why === 'overload' ? overloaded() : new StoreError('timeout', text))
      }
    } catch (error) {
      this.#end(flight)
      if (isOpen) call.fail(redisFailure(error))
    }
  }

  /** Needs no deadline in Redis, as reading late does no harm. */
  #sendRead(flight: Flight<ReadCall>): void {
    const { call, slot } = flight
    const sentMs = this.#clock.monotonic()
    if (call === undefined || sentMs >= endOf(flight, sentMs)) return
    const { time, window } = this.#nodeOf(slot)
    flight.sentMs = Math.min(flight.sentMs, sentMs)
    const sent = window.sent(call.keys.length, sentMs, this.#lateness.at(sentMs))
    // Where the time is known well enough, no second command reads it.
    const latestMs = time.latestAt(sentMs)
    const received = (values: unknown, nowUs: number): void => {
      window.ended(sent)
      const isOpen = flight.call !== undefined
      try {
        if (!(nowUs > 0) || !Array.isArray(values) || values.length !== call.keys.length)
          throw new StoreError('other', 'Redis answered TIME or MGET with something else.')
        if (latestMs === undefined) time.learn(nowUs, sentMs, this.#clock.monotonic())
        const endMs = endOf(flight, this.#clock.monotonic())
        this.#end(flight)?.received(values, nowUs, endMs)
      } catch (error) {
        this.#end(flight)
        if (isOpen) call.fail(redisFailure(error))
      }
    }
    const failed = (error: unknown): void => {
      this.#failInTurn(flight, redisFailure(error))
      window.ended(sent)
    }
    const clock = latestMs === undefined ? this.#connection.command(['TIME'], {}) : undefined
    const values = this.#connection.command(['MGET', ...call.keys], { bytes: true })
    if (clock === undefined) values.then((found) => received(found, latestMs! * 1000), failed)
    else Promise.all([values, clock]).then(([found, read]) => received(found, microsecondsOf(read)), failed)
  }

  /**
   * When the connection will be given up, at the earliest, because the oldest call is not answered. All calls fail with
   * it, before their own deadlines; a server that wakes up after that must not run them.
   */
  #givenUpMs(): number {
    let oldestMs = Infinity
    for (const { window } of this.#nodes.values()) oldestMs = Math.min(oldestMs, window.oldest?.sentMs ?? Infinity)
    return oldestMs + this.#socketTimeoutMs
  }

  #run(call: ScriptCall, slot: number, args: readonly RedisArgument[]): Promise<Buffer> {
    return this.#connection.run(call.script, call.keys, args).catch((error) => this.#runAgain(call, slot, args, error))
  }

  /** Sends again only what the server says it did not run. */
  async #runAgain(call: ScriptCall, slot: number, args: readonly RedisArgument[], error: unknown): Promise<Buffer> {
    if (isMissingScript(error)) return this.#load(call, slot, args)
    if (!isOnTheMove(error) || this.#clock.monotonic() + tryAgainMs >= call.deadlineMs) throw error
    await sleep(tryAgainMs, this.#clock)
    return this.#run(call, slot, args)
  }

  /**
   * One call brings the script to its node. Others that miss it there wait for that call, and need not send the script
   * too.
   */
  async #load(call: ScriptCall, slot: number, args: readonly RedisArgument[]): Promise<Buffer> {
    const { script, keys } = call
    let isOwn = false
    const loading = this.#loading.join(`${this.#connection.nodeOf(slot)} ${script.sha1}`, () => {
      isOwn = true
      return this.#connection.load(script, keys, args)
    })
    if (isOwn) return loading
    await loading.catch(() => undefined)
    return this.#run(call, slot, args)
  }

  #nodeOf(slot: number): Node {
    const { generation } = this.#connection
    if (generation !== this.#generation) {
      // A new connection may lead to another server with another clock: a deadline by the old one could be far too
      // late.
      this.#generation = generation
      this.#nodes.clear()
    }
    const address = slot === noSlot ? '' : this.#connection.nodeOf(slot)
    let node = this.#nodes.get(address)
    if (node === undefined) {
      node = { time: new ServerTime(), window: new SendWindow() }
      this.#nodes.set(address, node)
    }
    return node
  }
}

/** When a call must end, as far as is known now. */
function endOf({ expiry }: Flight, nowMs: number): number {
  return expiry?.endMs(nowMs) ?? -Infinity
}

function endsOnTime(call: ScriptCall | ReadCall | undefined): call is ScriptCall {
  return call !== undefined && 'endsOnTime' in call && call.endsOnTime === true
}
