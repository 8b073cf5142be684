import type { Answer, Ask, TakeAsk } from '../../core/engine/ask.ts'
import { takeWindows } from '../../core/engine/take-windows.ts'
import type { StoreError } from '../../core/errors.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { Script } from '../../redis/script.ts'
import type { Waiter } from '../callback-store.ts'
import { type AskBatch, type BatchOwner, checkGranted, notOurs } from './ask-batch.ts'
import { Batch } from './batch.ts'
import { encodeLoneTake, isOneWindow } from './limit-codec.ts'
import { passingState, readPlain } from './plain-state.ts'
import { replay, storedSubject } from './replay.ts'
import { decide } from './scripts.gen.ts'

/** Starts a batch with its first ask. */
export function startBatch(
  slot: number,
  nowMs: number,
  withinMs: number,
  owner: BatchOwner,
  ask: Ask,
  waiter: Waiter,
): AskBatch {
  const deadlineMs = nowMs + withinMs
  return canBeLone(ask)
    ? new LoneTake(slot, deadlineMs, withinMs, owner, ask, waiter)
    : new Batch(slot, deadlineMs, withinMs, owner).add(ask, waiter)
}

function canBeLone(ask: Ask): ask is TakeAsk {
  if (ask.kind !== 'take' || ask.hold !== undefined || ask.copies < 1 || ask.charges.length !== 1) return false
  const { cost, limits } = ask.charges[0]!
  // What spends nothing begins no window.
  return cost > 0 && isOneWindow(limits)
}

/**
 * One take of one subject with one window, the only ask of its call so far. A service whose requests come one at a time
 * makes no other calls, and the lists and maps of a `Batch` would cost it more than the decision itself. Another ask
 * makes it a `Batch`.
 */
export class LoneTake implements AskBatch {
  readonly script: Script = decide
  readonly slot: number
  readonly deadlineMs: number
  readonly withinMs: number
  readonly isFull = false
  readonly isEnoughToStart = false
  readonly #owner: BatchOwner
  readonly #ask: TakeAsk
  readonly #waiter: Waiter
  #isAnswered = false
  #isOver = false

  constructor(slot: number, deadlineMs: number, withinMs: number, owner: BatchOwner, ask: TakeAsk, waiter: Waiter) {
    this.slot = slot
    this.deadlineMs = deadlineMs
    this.withinMs = withinMs
    this.#owner = owner
    this.#ask = ask
    this.#waiter = waiter
  }

  get keys(): readonly string[] {
    return [this.#owner.keyOf(this.#ask.charges[0]!)]
  }

  add(ask: Ask, waiter: Waiter): AskBatch {
    const batch = new Batch(this.slot, this.deadlineMs, this.withinMs, this.#owner)
    return batch.add(this.#ask, this.#waiter).add(ask, waiter)
  }

  /** ARGV of `decide.lua` after the deadline. */
  args(nowMs: number): readonly string[] {
    const { limits, cost } = this.#ask.charges[0]!
    return encodeLoneTake(limits, cost, this.#ask.copies, nowMs)
  }

  replied(tookMs: number): void {
    this.#owner.replied(1, tookMs)
  }

  /** Answers the ask by the script's reply. */
  settle(reply: MsgpackReader, nowUs: number): void {
    const granted = reply.read() as number
    const answer = this.#replay(reply, nowUs)
    checkGranted(granted, answer?.granted ?? 0)
    this.#isAnswered = true
    if (answer === undefined) this.#waiter.failed(notOurs(this.keys[0]!))
    else this.#waiter.answered(answer)
    this.#end()
  }

  /** Tells the waiter that there is no answer, unless it has one. */
  fail(error: StoreError): void {
    if (!this.#isAnswered) {
      this.#isAnswered = true
      this.#waiter.failed(error)
    }
    this.#end()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#owner.ended()
  }

  #replay(reply: MsgpackReader, nowUs: number): Answer | undefined {
    const ask = this.#ask
    const charge = ask.charges[0]!
    const start = reply.at
    if (readPlain(reply, charge.limits, passingState.n, nowUs))
      return takeWindows(charge, passingState, ask.copies, nowUs)
    reply.at = start
    return replay(ask, 0, [storedSubject(reply.read())], nowUs)
  }
}
