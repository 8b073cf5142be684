import { algorithms } from '../../core/algorithms/all.ts'
import { algorithmNames } from '../../core/algorithms/index.ts'
import { blankState, extraOf, type HoldKind, type State } from '../../core/algorithms/state.ts'
import { convertState } from '../../core/engine/convert-state.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { codeOf } from '../../core/engine/tag.ts'
import type { Packed } from '../../redis/msgpack.ts'
import { constants } from './scripts.gen.ts'

/** The kinds of holds; the index of one is its code. */
export const holdKinds: readonly HoldKind[] = [
  ...(['reserve', 'acquire', 'receipt', 'pending', 'block', 'strikes', 'last-block'] as const),
]

/** A subject as a script found it, and as the asks of the batch leave it. The twin of `lua/state.lua`. */
export class StoredSubject {
  /** The time of the last ask: time never runs backwards for a subject. */
  baseUs: number
  #state: State = blankState(0)
  #packed: Packed[] | undefined
  #set: LimitSet | undefined

  constructor(packed: Packed[] | undefined) {
    this.#packed = packed
    this.baseUs = packed === undefined ? 0 : (packed[0] as number)
  }

  /** The state in the layout of a set of limits. What the set does not have is kept. */
  adopt(set: LimitSet): State {
    if (this.#set === undefined) this.#unpack(set)
    else if (this.#set.layout !== set.layout) this.#state = convertState(this.#state, this.#set, set)
    this.#set = set
    return this.#state
  }

  /** A copy of the state, to be looked at without leaving a trace. */
  look(set: LimitSet): State {
    return convertState(this.adopt(set), set, set)
  }

  /** After a reset there is nothing left to carry over. */
  forget(): void {
    this.#packed = undefined
    this.#set = undefined
    this.baseUs = 0
  }

  #unpack(set: LimitSet): void {
    const state = blankState(set.fields)
    this.#state = state
    const packed = this.#packed
    if (packed === undefined) return
    for (let p = 1; p < packed.length; ) {
      const tag = packed[p] as number
      if (tag === constants.HOLDS) {
        this.#unpackHolds(packed[p + 1] as Packed[])
        return
      }
      const code = codeOf(tag)
      const { fields } = algorithms[algorithmNames[code]!]
      const l = set.tags.indexOf(tag)
      if (l >= 0) this.#unpackFields(code, packed, p + 1, state, set.offsets[l]!)
      else {
        const kept = blankState(fields)
        this.#unpackFields(code, packed, p + 1, kept, 0)
        extraOf(state).kept.push({ tag, state: kept })
      }
      p += 1 + fields
    }
  }

  #unpackFields(code: number, packed: Packed[], p: number, state: State, at: number): void {
    const { n } = state
    const baseMs = Math.floor(this.baseUs / 1000)
    switch (algorithmNames[code]) {
      case 'gcra':
        n[at] = this.baseUs + (packed[p] as number)
        n[at + 1] = packed[p + 1] as number
        return
      case 'sliding-log':
        this.#unpackLog(packed[p] as number[], state, at)
        return
      case 'pace':
      case 'share':
        n[at + 2] = packed[p + 2] as number
        n[at + 3] = packed[p + 3] as number
        n[at + 4] = packed[p + 4] as number
        break
      case 'sliding-window':
        n[at + 2] = packed[p + 2] as number
    }
    n[at] = packed[p] === -1 ? 0 : baseMs - (packed[p] as number)
    n[at + 1] = packed[p + 1] as number
  }

  #unpackLog(entries: number[], state: State, at: number): void {
    const log = { times: [] as number[], costs: [] as number[] }
    for (let e = 0; e < entries.length; e += 2) {
      log.times.push(this.baseUs - entries[e]!)
      log.costs.push(entries[e + 1]!)
    }
    extraOf(state).logs.set(at, log)
  }

  #unpackHolds(flat: Packed[]): void {
    const { holds } = extraOf(this.#state)
    for (let h = 0; h < flat.length; h += constants.HOLD_WIDTH) {
      const cost = flat[h + constants.HOLD_COST] as number
      holds.push({
        id: flat[h] as string,
        takenUs: this.baseUs - (flat[h + constants.HOLD_AGE] as number),
        expiresUs: this.baseUs + (flat[h + constants.HOLD_LEFT] as number),
        cost,
        kind: holdKinds[flat[h + constants.HOLD_KIND] as number]!,
        tags: flat[h + constants.HOLD_TAGS] as number[],
      })
    }
  }
}
