import type { Answer, Ask, Charge } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import { MsgpackReader, type Packed } from '../../redis/msgpack.ts'
import type { Waiter } from '../callback-store.ts'
import { AskList } from './ask-codec.ts'
import { encodeLimitSet } from './limit-codec.ts'
import { PlainTakes } from './plain-takes.ts'
import { replay } from './replay.ts'
import { constants } from './scripts.gen.ts'
import { StoredSubject } from './stored-subject.ts'

/** Most subjects in one script call: enough to amortise it, few enough that Redis never blocks for long. */
export const maxSubjectsPerCall = 128
/** Most asks in one script call. */
export const maxAsksPerCall = 1024

/** What a script answered: decided, or only its time. */
export type BatchReply =
  | { readonly decided: false; readonly nowUs: number }
  | { readonly decided: true; readonly nowUs: number }

/**
 * Everything asked in one tick, on its way through one script call. `add` notes the asks; `settle` runs them on the states that the
 * script found, which tells each waiter what the script decided without the script having to.
 */
export class Batch {
  readonly deadlineMs: number
  readonly withinMs: number
  /** Ends the wait for the deadline; set while the batch is under way. */
  expiry: (() => void) | undefined
  readonly #waiting: Ask[] = []
  /** For each ask, where its subjects stand among the keys: a number when it has only one. */
  readonly #places: (number | readonly number[])[] = []
  readonly #plain = new PlainTakes()
  /** What each ask is answered; undefined when one of its keys holds what is not ours. */
  #answers: (Answer | undefined)[] = []
  /** Undefined for a key that holds what is not ours. */
  #subjects: readonly (StoredSubject | undefined)[] = []
  readonly #waiters: Waiter[] = []
  #ended = false
  readonly #keys: string[] = []
  /**
   * Where each subject stands among the keys, by the prefix of its rule: a subject that is asked for again needs no key, and its text
   * has often been hashed before, which that of a new key never has.
   */
  readonly #placesByRule = new Map<string, Map<string, number>>()
  #prefix: string | undefined
  #placesOfRule = new Map<string, number>()

  constructor(deadlineMs: number, withinMs: number) {
    this.deadlineMs = deadlineMs
    this.withinMs = withinMs
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

  add(ask: Ask, key: (charge: Charge) => string, waiter: Waiter): void {
    const { charges } = ask
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
  }

  /** ARGV of `decide.lua`. */
  args(deadlineUs: number, nowMs: number): [string, string, string, string] {
    if (this.#plain.all) return [String(deadlineUs), ...this.#plain.encode(nowMs)]
    const asks = new AskList()
    for (const [w, ask] of this.#waiting.entries()) asks.add(ask, [this.#places[w]!].flat())
    const sets = asks.sets.map((set) => encodeLimitSet(set, nowMs).general)
    return [String(deadlineUs), `[${sets.join()}]`, String(asks), '']
  }

  /** Settles every ask by the script's reply, or says that the script only told its time. */
  settle(reply: Buffer): BatchReply {
    const reader = new MsgpackReader(reply)
    const status = reader.read()
    const nowUs = reader.read() as number
    const granted = reader.read() as number
    if (status !== constants.DECIDED) return { decided: false, nowUs }
    // Too late: everybody has been told so.
    if (this.#ended) return { decided: true, nowUs }
    const total = this.#replayPlain(reader, nowUs) ?? this.#replay(reader, nowUs)
    if (total === granted) this.#answerAll()
    else
      this.fail(
        new StoreError(
          'script',
          `The script granted ${granted} and this client counts ${total}; are two versions of Sluice in use?`,
        ),
      )
    return { decided: true, nowUs }
  }

  /** Tells every waiter that there is no answer, unless they have been told something before. */
  fail(error: Error): void {
    if (this.#ended) return
    this.#ended = true
    for (const waiter of this.#waiters) waiter.failed(error)
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
    this.#ended = true
    for (let w = 0; w < this.#waiters.length; w++) {
      const answer = this.#answers[w]
      if (answer !== undefined) this.#waiters[w]!.answered(answer)
      else this.#waiters[w]!.failed(this.#notOurs(w))
    }
  }

  #notOurs(w: number): StoreError {
    const places = this.#places[w]!
    const place = typeof places === 'number' ? places : places.find((each) => this.#subjects[each] === undefined)
    return new StoreError('wrongtype', `A Redis key of Sluice holds a value that is not its own: ${this.#keys[place!]}`)
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

function storedSubject(packed: Packed): StoredSubject | undefined {
  if (packed === false) return undefined
  return new StoredSubject(packed === null ? undefined : (packed as Packed[]))
}
