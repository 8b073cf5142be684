import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import type { StoreError } from '../../core/errors.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import type { Script } from '../../redis/script.ts'
import type { Waiter } from '../callback-store.ts'
import { type AskBatch, type BatchOwner, checkGranted, notOurs } from './ask-batch.ts'
import { AskList } from './ask-codec.ts'
import { encodeLimitSet } from './limit-codec.ts'
import { PlainTakes } from './plain-takes.ts'
import { replay, type StoredSubjects, storedSubject } from './replay.ts'
import { decide as decideScript } from './scripts.gen.ts'

/** Most subjects in one script call: enough to amortise it, few enough that Redis never blocks for long. */
export const maxSubjectsPerCall = 128
/** Most asks in one script call. */
export const maxAsksPerCall = 1024

/** An idle server starts with so many subjects, while this process gathers the rest. */
const enoughToStart = 32

/**
 * Everything asked in one tick, on its way through one script call. `add` notes the asks; `settle` runs them on the
 * states that the script found, so that the script need not return what it decided for each ask.
 */
export class Batch implements AskBatch {
  readonly script: Script = decideScript
  readonly slot: number
  readonly deadlineMs: number
  readonly withinMs: number
  readonly #owner: BatchOwner
  readonly #waiting: Ask[] = []
  /** For each ask, the indices of its subjects among the keys: a number when it has only one. */
  readonly #places: (number | readonly number[])[] = []
  readonly #plain = new PlainTakes()
  /** The answer to each ask; undefined when one of its keys holds a value that is not ours. */
  #answers: (Answer | undefined)[] = []
  /** Undefined for a key that holds a value that is not ours. */
  #subjects: StoredSubjects = []
  readonly #waiters: Waiter[] = []
  /** Whether every waiter has its answer or its failure. */
  #isAnswered = false
  #isOver = false
  readonly #keys: string[] = []
  /**
   * The index of each subject among the keys, by the prefix of its rule. Looked up by subject and not by key: a known
   * subject then needs no key, and the hash of its text is often cached already.
   */
  readonly #placesByRule = new Map<string, Map<string, number>>()
  #prefix: string | undefined
  #placesOfRule = new Map<string, number>()

  constructor(slot: number, deadlineMs: number, withinMs: number, owner: BatchOwner) {
    this.slot = slot
    this.deadlineMs = deadlineMs
    this.withinMs = withinMs
    this.#owner = owner
  }

  get size(): number {
    return this.#waiting.length
  }

  get keys(): readonly string[] {
    return this.#keys
  }

  get isFull(): boolean {
    return this.#keys.length >= maxSubjectsPerCall || this.#waiting.length >= maxAsksPerCall
  }

  get isEnoughToStart(): boolean {
    return this.#keys.length >= enoughToStart
  }

  add(ask: Ask, waiter: Waiter): this {
    const { charges } = ask
    const key = this.#owner.keyOf
    if (charges.length === 1) {
      const place = this.#placeOf(charges[0]!, key)
      this.#places.push(place)
      this.#plain.add(ask, place)
    } else {
      this.#places.push(charges.map((charge) => this.#placeOf(charge, key)))
      this.#plain.add(ask, -1)
    }
    this.#waiting.push(ask)
    this.#waiters.push(waiter)
    return this
  }

  /** ARGV of `decide.lua` after the deadline. */
  args(nowMs: number): readonly string[] {
    if (this.#plain.all) return this.#plain.encode(nowMs)
    const asks = new AskList()
    for (const [w, ask] of this.#waiting.entries()) asks.add(ask, [this.#places[w]!].flat())
    const sets = asks.sets.map((set) => encodeLimitSet(set, nowMs).general)
    return [`[${sets.join()}]`, String(asks), '']
  }

  replied(tookMs: number): void {
    this.#owner.replied(this.size, tookMs)
  }

  /** Answers every ask by the script's reply. */
  settle(reply: MsgpackReader, nowUs: number): void {
    const granted = reply.read() as number
    const total = this.#replayPlain(reply, nowUs) ?? this.#replay(reply, nowUs)
    checkGranted(granted, total)
    this.#answerAll()
    this.#end()
  }

  /** Fails every waiter that has no answer yet. */
  fail(error: Error): void {
    if (!this.#isAnswered) {
      this.#isAnswered = true
      for (const waiter of this.#waiters) waiter.failed(error)
    }
    this.#end()
  }

  #end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#owner.ended()
  }

  #replayPlain(reader: MsgpackReader, nowUs: number): number | undefined {
    if (!this.#plain.all) return undefined
    const answers: Answer[] = []
    const start = reader.at
    const total = this.#plain.replay(this.#waiting, this.#places as number[], reader, nowUs, answers)
    if (total === undefined) reader.at = start
    else this.#answers = answers
    return total
  }

  #replay(reader: MsgpackReader, nowUs: number): number {
    const subjects = this.#keys.map(() => storedSubject(reader.read()))
    this.#subjects = subjects
    let total = 0
    for (const [w, ask] of this.#waiting.entries()) {
      const answer = replay(ask, this.#places[w]!, subjects, nowUs)
      if (answer !== undefined && ask.kind === 'take') total += answer.granted
      this.#answers.push(answer)
    }
    return total
  }

  #answerAll(): void {
    this.#isAnswered = true
    for (let w = 0; w < this.#waiters.length; w++) {
      const answer = this.#answers[w]
      if (answer !== undefined) this.#waiters[w]!.answered(answer)
      else this.#waiters[w]!.failed(this.#notOurs(w))
    }
  }

  #notOurs(w: number): StoreError {
    const places = this.#places[w]!
    const all = [places].flat()
    const place = all.find((each) => this.#subjects[each] === undefined) ?? all[0]
    return notOurs(this.#keys[place!]!)
  }

  #placeOf(charge: Charge, key: (charge: Charge) => string): number {
    const { prefix } = charge.rule
    if (prefix !== this.#prefix) {
      this.#prefix = prefix
      this.#placesOfRule = this.#placesByRule.get(prefix) ?? new Map()
      this.#placesByRule.set(prefix, this.#placesOfRule)
    }
    const known = this.#placesOfRule.get(charge.subject)
    if (known !== undefined) return known
    const place = this.#keys.push(key(charge)) - 1
    this.#placesOfRule.set(charge.subject, place)
    return place
  }
}
