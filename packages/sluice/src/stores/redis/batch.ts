import type { Answer, Ask, Charge } from '../../core/ask.ts'
import { decide } from '../../core/engine.ts'
import { StoreError } from '../../core/errors.ts'
import type { LimitSet } from '../../core/limit-set.ts'
import type { State } from '../../core/state.ts'
import { encodeLimitSet } from './limit-codec.ts'
import { MsgpackReader, type Packed } from './msgpack.ts'
import { holdKinds, StoredSubject } from './stored-subject.ts'

/** Most subjects in one script call: enough to amortise it, few enough that Redis never blocks for long. */
export const maxSubjectsPerCall = 128
/** Most asks in one script call. */
export const maxAsksPerCall = 1024

/** Codes of the asks in `lua/decide.lua`. */
const codes = { takeOne: 0, take: 1, settle: 2, extend: 3, refund: 4, reset: 5, debit: 6, takeEach: 7 } as const

interface Waiting {
  readonly ask: Ask
  readonly keys: readonly number[]
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: Error) => void
}

/** What a script answered: decided, or only its time. */
export type BatchReply = { readonly decided: false; readonly nowUs: number } | { readonly decided: true; readonly nowUs: number }

/**
 * Everything asked in one tick, on its way through one script call. `add` writes the asks down; `settle` runs them on the states that
 * the script found, which tells each asker what the script decided without the script having to.
 */
export class Batch {
  readonly deadlineMs: number
  readonly #waiting: Waiting[] = []
  readonly #keys: string[] = []
  readonly #keyIndex = new Map<string, number>()
  readonly #sets: LimitSet[] = []
  readonly #asks: (number | string)[] = []
  /** Where the last ask stands when it was a take of one subject: the next like it is folded into it. */
  #lastTake = -1

  constructor(deadlineMs: number) {
    this.deadlineMs = deadlineMs
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

  add(ask: Ask, key: (charge: Charge) => string): Promise<Answer> {
    const keys: number[] = []
    for (const charge of ask.charges) keys.push(this.#indexOf(key(charge)))
    this.#write(ask, keys)
    return new Promise((resolve, reject) => this.#waiting.push({ ask, keys, resolve, reject }))
  }

  /** ARGV of `decide.lua`. */
  args(deadlineUs: number, nowMs: number): [string, string, string] {
    let sets = ''
    for (const set of this.#sets) sets += (sets === '' ? '' : ',') + encodeLimitSet(set, nowMs)
    return [String(deadlineUs), `[${sets}]`, JSON.stringify(this.#asks)]
  }

  /** Settles every ask by the script's reply, or says that the script only told its time. */
  settle(reply: Buffer): BatchReply {
    const reader = new MsgpackReader(reply)
    const status = reader.read()
    const nowUs = reader.read() as number
    const granted = reader.read() as number
    if (status !== 0) return { decided: false, nowUs }
    const subjects = this.#keys.map(() => storedSubject(reader.read()))
    let total = 0
    const answers: (Answer | undefined)[] = []
    for (const { ask, keys } of this.#waiting) {
      const answer = replay(ask, keys, subjects, nowUs)
      if (answer !== undefined && ask.kind === 'take') total += answer.granted
      answers.push(answer)
    }
    if (total !== granted) {
      this.fail(new StoreError('script', `The script granted ${granted} and this client counts ${total}; are two versions of Sluice in use?`))
      return { decided: true, nowUs }
    }
    for (let w = 0; w < answers.length; w++) {
      const answer = answers[w]
      if (answer !== undefined) this.#waiting[w]!.resolve(answer)
      else this.#waiting[w]!.reject(new StoreError('wrongtype', `A Redis key of Sluice holds a value that is not its own: ${this.#keys[this.#waiting[w]!.keys[0]!]}`))
    }
    return { decided: true, nowUs }
  }

  fail(error: Error): void {
    for (const { reject } of this.#waiting) reject(error)
  }

  #indexOf(key: string): number {
    const known = this.#keyIndex.get(key)
    if (known !== undefined) return known
    this.#keyIndex.set(key, this.#keys.length)
    return this.#keys.push(key) - 1
  }

  #setOf(set: LimitSet): number {
    const known = this.#sets.indexOf(set)
    return known >= 0 ? known : this.#sets.push(set) - 1
  }

  #write(ask: Ask, keys: readonly number[]): void {
    if (ask.kind === 'take' && ask.hold === undefined && keys.length === 1) {
      this.#writeTakeOne(keys[0]!, ask.charges[0]!, ask.copies)
      return
    }
    this.#lastTake = -1
    // A peek changes nothing, so the script need not know of it: its subjects are read all the same.
    if (ask.kind === 'peek') return
    const out = this.#asks
    out.push(codes[ask.kind], keys.length)
    for (const [c, charge] of ask.charges.entries()) out.push(keys[c]! + 1, this.#setOf(charge.limits) + 1, charge.cost)
    switch (ask.kind) {
      case 'take':
        out.push(ask.hold?.id ?? '', ask.hold?.ttlUs ?? 0, ask.hold ? holdKinds.indexOf(ask.hold.kind) : 0)
        return
      case 'settle':
        out.push(ask.id)
        return
      case 'extend':
        out.push(ask.id, ask.ttlUs)
        return
      case 'refund':
        out.push(ask.takenUs ?? -1)
        return
      case 'debit':
        out.push(...ask.units)
    }
  }

  /**
   * Takes of the same cost and limits fold together: on one subject into one take of more copies, on one new subject after the other
   * into one walk over them. Either is decided as if each came by itself.
   */
  #writeTakeOne(key: number, charge: Charge, copies: number): void {
    const out = this.#asks
    const set = this.#setOf(charge.limits) + 1
    const place = key + 1
    const last = this.#lastTake
    if (last >= 0) {
      const each = out[last] === codes.takeEach
      const sameKind = out[last + (each ? 3 : 2)] === set && out[last + (each ? 4 : 3)] === charge.cost
      if (sameKind && !each && out[last + 1] === place) {
        out[last + 4] = (out[last + 4] as number) + copies
        return
      }
      if (sameKind && copies === 1 && place === (out[last + (each ? 2 : 1)] as number) + 1) {
        if (each) {
          out[last + 2] = place
          return
        }
        if (out[last + 4] === 1) {
          out.splice(last, 5, codes.takeEach, place - 1, place, set, charge.cost)
          return
        }
      }
    }
    this.#lastTake = out.length
    out.push(codes.takeOne, place, set, charge.cost, copies)
  }
}

function storedSubject(packed: Packed): StoredSubject | undefined {
  if (packed === false) return undefined
  return new StoredSubject(packed === null ? undefined : (packed as Packed[]))
}

function replay(ask: Ask, keys: readonly number[], subjects: readonly (StoredSubject | undefined)[], clockUs: number): Answer | undefined {
  const states: State[] = []
  let nowUs = clockUs
  for (let c = 0; c < keys.length; c++) {
    const subject = subjects[keys[c]!]
    if (subject === undefined) return undefined
    states.push(subject.adopt(ask.charges[c]!.limits))
    if (subject.baseUs > nowUs) nowUs = subject.baseUs
  }
  const answer = decide(ask, states, nowUs)
  if (ask.kind === 'reset') for (const key of keys) subjects[key]!.forget()
  else if (ask.kind !== 'peek' && answer.granted > 0) for (const key of keys) subjects[key]!.baseUs = nowUs
  return answer
}
