import { algorithmNames, algorithms } from '../../core/algorithms/index.ts'
import type { LimitSet } from '../../core/limit-set.ts'
import { extraOf, type HoldKind, type State } from '../../core/state.ts'
import type { Packed } from './msgpack.ts'

/** The kinds of holds; the index of one is its code. */
export const holdKinds: readonly HoldKind[] = ['reserve', 'acquire', 'receipt']
const holdsTag = 127

/** A subject as a script found it, and as the asks of the batch leave it. The twin of `lua/state.lua`. */
export class StoredSubject {
  /** The time of the last write: time never runs backwards for a subject. */
  baseUs: number
  readonly state: State = { n: new Float64Array(0), at: 0, extra: undefined }
  #packed: Packed[] | undefined
  #set: LimitSet | undefined

  constructor(packed: Packed[] | undefined) {
    this.#packed = packed
    this.baseUs = packed === undefined ? 0 : (packed[0] as number)
  }

  /** The state with the fields of a set of limits; what it has in common with what was stored carries over. */
  adopt(set: LimitSet): State {
    if (this.#set === set) return this.state
    if (this.#set === undefined) this.#unpack(set)
    else this.#convert(this.#set, set)
    this.#set = set
    return this.state
  }

  /** After a reset there is nothing left to carry over. */
  forget(): void {
    this.#packed = undefined
    this.#set = undefined
    this.baseUs = 0
    this.state.extra = undefined
  }

  #unpack(set: LimitSet): void {
    const { state } = this
    state.n = new Float64Array(set.fields)
    const packed = this.#packed
    if (packed === undefined) return
    for (let p = 1; p < packed.length; ) {
      const tag = packed[p] as number
      if (tag === holdsTag) {
        this.#unpackHolds(packed[p + 1] as Packed[])
        return
      }
      const code = tag >> 4
      const l = set.tags.indexOf(tag)
      if (l >= 0) this.#unpackFields(code, packed, p + 1, set.offsets[l]!)
      p += 1 + algorithms[algorithmNames[code]!].fields
    }
  }

  #unpackFields(code: number, packed: Packed[], p: number, at: number): void {
    const { n } = this.state
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
    extraOf(this.state).logs.set(at, log)
  }

  #unpackHolds(flat: Packed[]): void {
    const { holds } = extraOf(this.state)
    for (let h = 0; h < flat.length; h += 5) {
      const [id, taken, expires, cost, kind] = flat.slice(h, h + 5) as [string, number, number, number, number]
      holds.push({ id, takenUs: this.baseUs - taken, expiresUs: this.baseUs + expires, cost, kind: holdKinds[kind]! })
    }
  }

  #convert(from: LimitSet, to: LimitSet): void {
    const { state } = this
    const n = new Float64Array(to.fields)
    const logs = new Map(state.extra?.logs)
    state.extra?.logs.clear()
    for (const [l, tag] of to.tags.entries()) {
      const f = from.tags.indexOf(tag)
      if (f < 0) continue
      const start = from.offsets[f]!
      n.set(state.n.subarray(start, start + to.algorithms[l]!.fields), to.offsets[l]!)
      const log = logs.get(start)
      if (log) extraOf(state).logs.set(to.offsets[l]!, log)
    }
    state.n = n
  }
}
