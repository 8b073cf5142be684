import { algorithmNames, algorithms } from '../../core/algorithms/index.ts'
import { codeOf, type LimitSet } from '../../core/engine/limit-set.ts'
import { extraOf, type HoldKind, type State } from '../../core/engine/state.ts'
import type { Packed } from '../../redis/msgpack.ts'
import { constants } from './scripts.gen.ts'

/** The kinds of holds; the index of one is its code. */
export const holdKinds: readonly HoldKind[] = ['reserve', 'acquire', 'receipt']

/** What a subject was before it was looked at through other limits; without a set, what is packed. */
interface Own {
  readonly set: LimitSet | undefined
  readonly state: State
  readonly baseUs: number
}

/** A subject as a script found it, and as the asks of the batch leave it. The twin of `lua/state.lua`. */
export class StoredSubject {
  /** The time of the last ask: time never runs backwards for a subject. */
  baseUs: number
  #state: State = blank(0)
  #packed: Packed[] | undefined
  #set: LimitSet | undefined
  #own: Own | undefined

  constructor(packed: Packed[] | undefined) {
    this.#packed = packed
    this.baseUs = packed === undefined ? 0 : (packed[0] as number)
  }

  /**
   * The state through a set of limits: what they have in common with what was stored carries over. Only a write makes them the
   * subject's own; until then, nothing that they do not have is lost.
   */
  adopt(set: LimitSet): State {
    if (this.#set === set) return this.#state
    if (this.#own !== undefined) {
      this.#set = this.#own.set
      this.#state = this.#own.state
      this.baseUs = this.#own.baseUs
      this.#own = undefined
      if (this.#set === set) return this.#state
    }
    const before = { set: this.#set, state: this.#state, baseUs: this.baseUs }
    if (this.#set === undefined) {
      if (!this.#unpack(set)) this.#own = before
    } else if (this.#set.layout !== set.layout) {
      this.#own = before
      this.#state = convert(this.#state, this.#set, set)
    }
    this.#set = set
    return this.#state
  }

  /** A copy of the state, to be looked at without leaving a trace. */
  look(set: LimitSet): State {
    return convert(this.adopt(set), set, set)
  }

  /** The limits through which the subject is seen are its own from now on. */
  wrote(): void {
    this.#own = undefined
  }

  /** After a reset there is nothing left to carry over. */
  forget(): void {
    this.#packed = undefined
    this.#set = undefined
    this.#own = undefined
    this.baseUs = 0
  }

  /** Returns whether the set has exactly the limits that were stored, in the same order. */
  #unpack(set: LimitSet): boolean {
    const state = blank(set.fields)
    this.#state = state
    const packed = this.#packed
    if (packed === undefined) return true
    const stored: number[] = []
    for (let p = 1; p < packed.length; ) {
      const tag = packed[p] as number
      if (tag === constants.HOLDS) {
        this.#unpackHolds(packed[p + 1] as Packed[])
        break
      }
      stored.push(tag)
      const code = codeOf(tag)
      const l = set.tags.indexOf(tag)
      if (l >= 0) this.#unpackFields(code, packed, p + 1, set.offsets[l]!)
      p += 1 + algorithms[algorithmNames[code]!].fields
    }
    const kept = set.tags.filter((_, l) => set.algorithms[l]!.fields > 0)
    return kept.length === stored.length && kept.every((tag, l) => tag === stored[l])
  }

  #unpackFields(code: number, packed: Packed[], p: number, at: number): void {
    const { n } = this.#state
    const baseMs = Math.floor(this.baseUs / 1000)
    switch (algorithmNames[code]) {
      case 'gcra':
        n[at] = this.baseUs + (packed[p] as number)
        n[at + 1] = packed[p + 1] as number
        return
      case 'sliding-log':
        this.#unpackLog(packed[p] as number[], at)
        return
      case 'sliding-window':
        n[at + 2] = packed[p + 2] as number
    }
    n[at] = packed[p] === -1 ? 0 : baseMs - (packed[p] as number)
    n[at + 1] = packed[p + 1] as number
  }

  #unpackLog(entries: number[], at: number): void {
    const log = { times: [] as number[], costs: [] as number[] }
    for (let e = 0; e < entries.length; e += 2) {
      log.times.push(this.baseUs - entries[e]!)
      log.costs.push(entries[e + 1]!)
    }
    extraOf(this.#state).logs.set(at, log)
  }

  #unpackHolds(flat: Packed[]): void {
    const { holds } = extraOf(this.#state)
    for (let h = 0; h < flat.length; h += constants.HOLD_WIDTH) {
      const [id, taken, expires, cost, kind] = flat.slice(h, h + constants.HOLD_WIDTH) as [
        string,
        number,
        number,
        number,
        number,
      ]
      holds.push({ id, takenUs: this.baseUs - taken, expiresUs: this.baseUs + expires, cost, kind: holdKinds[kind]! })
    }
  }
}

function blank(fields: number): State {
  return { n: new Float64Array(fields), at: 0, extra: undefined }
}

function convert(state: State, from: LimitSet, to: LimitSet): State {
  const made = blank(to.fields)
  for (const [l, tag] of to.tags.entries()) {
    const f = from.tags.indexOf(tag)
    // A limit without fields has no place of its own: at its offset stands the next one.
    if (f < 0 || to.algorithms[l]!.fields === 0) continue
    const start = state.at + from.offsets[f]!
    made.n.set(state.n.subarray(start, start + to.algorithms[l]!.fields), to.offsets[l]!)
    const log = state.extra?.logs.get(from.offsets[f]!)
    if (log) extraOf(made).logs.set(to.offsets[l]!, { times: [...log.times], costs: [...log.costs] })
  }
  if (state.extra && state.extra.holds.length > 0) extraOf(made).holds = state.extra.holds.map((hold) => ({ ...hold }))
  return made
}
