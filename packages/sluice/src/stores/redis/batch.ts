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

/** What a script answered: decided, or only its time. */
export type BatchReply =
  | { readonly decided: false; readonly nowUs: number }
  | { readonly decided: true; readonly nowUs: number }

/**
 * Everything asked in one tick, on its way through one script call. `add` writes the asks down; `settle` runs them on the states that
 * the script found, which tells each asker what the script decided without the script having to.
 */
export class Batch {
  readonly deadlineMs: number
  readonly withinMs: number
  readonly #waiting: Ask[] = []
  /** For each ask, where its subjects stand among the keys: a number when it has only one. */
  readonly #places: (number | readonly number[])[] = []
  /** What each ask is answered; undefined when one of its keys holds what is not ours. */
  readonly #answers: (Answer | undefined)[] = []
  /** Undefined for a key that holds what is not ours. */
  #subjects: readonly (StoredSubject | undefined)[] = []
  readonly #settled: Promise<void>
  #resolve!: () => void
  #reject!: (error: Error) => void
  readonly #keys: string[] = []
  readonly #keyIndex = new Map<string, number>()
  readonly #sets: LimitSet[] = []
  readonly #asks: (number | string)[] = []
  /** Where the last ask stands when it was a take of one subject: the next like it is folded into it. */
  #lastTake = -1

  constructor(deadlineMs: number, withinMs: number) {
    this.deadlineMs = deadlineMs
    this.withinMs = withinMs
    this.#settled = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
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

  /** All asks wait for the one promise of the batch: what is settled together needs no promise of its own until then. */
  add(ask: Ask, key: (charge: Charge) => string): Promise<Answer> {
    const { charges } = ask
    const place =
      charges.length === 1 ? this.#indexOf(key(charges[0]!)) : charges.map((charge) => this.#indexOf(key(charge)))
    this.#write(ask, place)
    this.#places.push(place)
    const index = this.#waiting.push(ask) - 1
    return this.#settled.then(() => this.#answer(index))
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
    this.#subjects = subjects
    let total = 0
    for (let w = 0; w < this.#waiting.length; w++) {
      const ask = this.#waiting[w]!
      const answer = replay(ask, this.#places[w]!, subjects, nowUs)
      if (answer !== undefined && ask.kind === 'take') total += answer.granted
      this.#answers.push(answer)
    }
    if (total === granted) this.#resolve()
    else
      this.fail(
        new StoreError(
          'script',
          `The script granted ${granted} and this client counts ${total}; are two versions of Sluice in use?`,
        ),
      )
    return { decided: true, nowUs }
  }

  fail(error: Error): void {
    this.#reject(error)
  }

  #answer(index: number): Answer {
    const answer = this.#answers[index]
    if (answer !== undefined) return answer
    const places = this.#places[index]!
    const place = typeof places === 'number' ? places : places.find((each) => this.#subjects[each] === undefined)
    const key = this.#keys[place!]
    throw new StoreError('wrongtype', `A Redis key of Sluice holds a value that is not its own: ${key}`)
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

  #write(ask: Ask, place: number | readonly number[]): void {
    if (ask.kind === 'take' && ask.hold === undefined && typeof place === 'number') {
      this.#writeTakeOne(place, ask.charges[0]!, ask.copies)
      return
    }
    this.#lastTake = -1
    // A peek changes nothing, so the script need not know of it: its subjects are read all the same.
    if (ask.kind === 'peek') return
    const keys = typeof place === 'number' ? [place] : place
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

const one: [State] = [{ n: new Float64Array(0), at: 0, extra: undefined }]

function replay(
  ask: Ask,
  places: number | readonly number[],
  subjects: readonly (StoredSubject | undefined)[],
  clockUs: number,
): Answer | undefined {
  if (typeof places !== 'number') return replayMany(ask, places, subjects, clockUs)
  const subject = subjects[places]
  if (subject === undefined) return undefined
  const { limits } = ask.charges[0]!
  one[0] = ask.kind === 'peek' ? subject.look(limits) : subject.adopt(limits)
  const nowUs = Math.max(clockUs, subject.baseUs)
  const answer = decide(ask, one, nowUs)
  written(ask, answer, subject, nowUs)
  return answer
}

function replayMany(
  ask: Ask,
  places: readonly number[],
  subjects: readonly (StoredSubject | undefined)[],
  clockUs: number,
): Answer | undefined {
  const involved: StoredSubject[] = []
  for (const place of places) {
    const subject = subjects[place]
    if (subject === undefined) return undefined
    involved.push(subject)
  }
  const states = involved.map((subject, c) => {
    const { limits } = ask.charges[c]!
    return ask.kind === 'peek' ? subject.look(limits) : subject.adopt(limits)
  })
  const nowUs = involved.reduce((latest, { baseUs }) => Math.max(latest, baseUs), clockUs)
  const answer = decide(ask, states, nowUs)
  for (const subject of involved) written(ask, answer, subject, nowUs)
  return answer
}

/** What a script that saw a subject leaves for the next ask of the batch. It sees nothing of peeks. */
function written(ask: Ask, answer: Answer, subject: StoredSubject, nowUs: number): void {
  if (ask.kind === 'peek') return
  if (ask.kind === 'reset') {
    subject.forget()
    return
  }
  subject.baseUs = nowUs
  if (answer.granted > 0) subject.wrote()
}
