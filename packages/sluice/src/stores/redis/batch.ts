import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import { unknownFormat } from '../../redis/failure.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { ScriptCall } from '../../redis/runner/script-call.ts'
import type { TickBatch } from '../../redis/runner/tick-batcher.ts'
import type { Script } from '../../redis/script.ts'
import type { AnswerCallback } from '../callback-store.ts'
import { AskList } from './ask-list.ts'
import { encodeLimitSet } from './encode-limit-set.ts'
import { FastTakes } from './fast-takes.ts'
import { replay, type StoredSubjects, storedSubject } from './replay.ts'
import { decide as decideScript } from './scripts.gen.ts'

/** Most subjects in one script call: enough to amortise it, few enough that Redis never blocks for long. */
export const maxSubjectsPerCall = 128
/** Most asks in one script call. */
export const maxAsksPerCall = 1024

/** An idle server starts with so many subjects, while this process gathers the rest. */
const enoughToStart = 32

/** What lists are before their first item. */
const none: never[] = []

/** Who makes batches, and learns what becomes of them. */
export interface BatchOwner {
  readonly keyOf: (charge: Charge) => string
  replied(asks: number, tookMs: number): void
  ended(): void
}

/**
 * Everything asked in one tick, on its way through one script call. `add` notes the asks; `settle` runs them on the
 * states that the script found, so that the script need not return what it decided for each ask.
 */
export class Batch implements ScriptCall, TickBatch<Ask, AnswerCallback> {
  readonly script: Script = decideScript
  readonly slot: number
  readonly deadlineMs: number
  readonly withinMs: number
  readonly endsOnTime = true
  readonly #owner: BatchOwner
  // Most batches are one ask. A list that is made with its only item takes as much memory as that; pushed into an empty
  // one, it would take that of 17.
  #asks: Ask[] = none
  #callbacks: AnswerCallback[] = none
  /** For each ask, the indices of its subjects among the keys: a number when it has only one. */
  #subjects: (number | readonly number[])[] = none
  readonly #fast = new FastTakes()
  /** The answer to each ask; undefined when one of its keys holds a value that is not ours. */
  #answers: readonly (Answer | undefined)[] = none
  /** Undefined for a key that holds a value that is not ours, or of another format. */
  #stored: StoredSubjects = none
  /** The indices of the keys whose values are of another format. */
  #otherFormat: number[] = none
  /** Whether every callback has its answer or its failure. */
  #isAnswered = false
  #isOver = false
  #keys: string[] = none
  #first: Charge | undefined
  /**
   * The index of each subject among the keys, by the prefix of its rule; made for the second subject. Looked up by
   * subject and not by key: a known subject then needs no key, and the hash of its text is often cached already.
   */
  #indices: Map<string, Map<string, number>> | undefined
  #prefix: string | undefined
  #indicesOfRule: Map<string, number> | undefined

  constructor(slot: number, deadlineMs: number, withinMs: number, owner: BatchOwner) {
    this.slot = slot
    this.deadlineMs = deadlineMs
    this.withinMs = withinMs
    this.#owner = owner
  }

  get size(): number {
    return this.#asks.length
  }

  get keys(): readonly string[] {
    return this.#keys
  }

  get isFull(): boolean {
    return this.#keys.length >= maxSubjectsPerCall || this.size >= maxAsksPerCall
  }

  get isEnoughToStart(): boolean {
    return this.#keys.length >= enoughToStart
  }

  add(ask: Ask, callback: AnswerCallback): void {
    const { charges } = ask
    const subjects = charges.length === 1 ? this.#indexOf(charges[0]!) : charges.map((charge) => this.#indexOf(charge))
    this.#fast.add(ask, typeof subjects === 'number' ? subjects : -1)
    if (this.#asks.length === 0) {
      this.#subjects = [subjects]
      this.#asks = [ask]
      this.#callbacks = [callback]
    } else {
      this.#subjects.push(subjects)
      this.#asks.push(ask)
      this.#callbacks.push(callback)
    }
  }

  /** ARGV of `decide.lua` after the deadline. */
  args(nowMs: number): readonly string[] {
    if (this.#fast.isAll) return this.#fast.encode(nowMs)
    const list = new AskList()
    for (const [a, ask] of this.#asks.entries()) list.add(ask, [this.#subjects[a]!].flat())
    const sets = list.sets.map((set) => encodeLimitSet(set, nowMs).general)
    const { blocks } = list
    return [`[[${sets.join()}],${list}${blocks.length > 0 ? `,${JSON.stringify(blocks)}` : ''}]`]
  }

  replied(tookMs: number): void {
    this.#owner.replied(this.size, tookMs)
  }

  /** Answers every ask by the script's reply. */
  settle(reply: MsgpackReader, nowUs: number): void {
    const granted = reply.read() as number
    const counted = this.#replayFast(reply, nowUs) ?? this.#replay(reply, nowUs)
    // The script and this client decide by the same rules, so what they grant must be the same.
    if (granted !== counted) throw disagreement(granted, counted)
    this.#answerAll()
    this.#end()
  }

  /** Fails every callback that has no answer yet. */
  fail(error: Error): void {
    if (!this.#isAnswered) {
      this.#isAnswered = true
      for (const callback of this.#callbacks) callback.failed(error)
    }
    this.#end()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#owner.ended()
  }

  #replayFast(reader: MsgpackReader, nowUs: number): number | undefined {
    if (!this.#fast.isAll) return undefined
    const answers = new Array<Answer>(this.size)
    const start = reader.at
    const granted = this.#fast.replay(this.#asks, this.#subjects as number[], reader, nowUs, answers)
    if (granted === undefined) reader.at = start
    else this.#answers = answers
    return granted
  }

  #replay(reader: MsgpackReader, nowUs: number): number {
    const packed = this.#keys.map(() => reader.read())
    if (packed.includes(true)) this.#otherFormat = [...packed.keys()].filter((k) => packed[k] === true)
    const stored = packed.map(storedSubject)
    this.#stored = stored
    let granted = 0
    this.#answers = this.#asks.map((ask, a) => {
      const answer = replay(ask, this.#subjects[a]!, stored, nowUs)
      if (answer !== undefined && ask.kind === 'take') granted += answer.granted
      return answer
    })
    return granted
  }

  #answerAll(): void {
    this.#isAnswered = true
    for (let a = 0; a < this.#callbacks.length; a++) {
      const answer = this.#answers[a]
      if (answer !== undefined) this.#callbacks[a]!.answered(answer)
      else this.#callbacks[a]!.failed(this.#notOurs(a))
    }
  }

  #notOurs(a: number): StoreError {
    const subjects = [this.#subjects[a]!].flat()
    const index = subjects.find((each) => this.#stored[each] === undefined) ?? subjects[0]!
    const key = this.#keys[index]!
    return this.#otherFormat.includes(index)
      ? unknownFormat(key)
      : new StoreError('wrongtype', `A Redis key of Sluice holds a value that is not its own: ${key}`)
  }

  #indexOf(charge: Charge): number {
    const first = this.#first
    if (first === undefined) {
      this.#first = charge
      this.#keys = [this.#owner.keyOf(charge)]
      return 0
    }
    if (charge.subject === first.subject && charge.rule.prefix === first.rule.prefix) return 0
    const indices = this.#indicesOf(charge.rule.prefix)
    const known = indices.get(charge.subject)
    if (known !== undefined) return known
    const index = this.#keys.push(this.#owner.keyOf(charge)) - 1
    indices.set(charge.subject, index)
    return index
  }

  #indicesOf(prefix: string): Map<string, number> {
    if (prefix === this.#prefix) return this.#indicesOfRule!
    this.#indices ??= new Map()
    let indices = this.#indices.get(prefix)
    if (indices === undefined) {
      indices = new Map()
      this.#indices.set(prefix, indices)
    }
    this.#prefix = prefix
    this.#indicesOfRule = indices
    return indices
  }
}

function disagreement(granted: number, counted: number): StoreError {
  return new StoreError(
    'script',
    `The script granted ${granted} and this client counts ${counted}; are two versions of Sluice in use?`,
  )
}
