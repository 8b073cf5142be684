import type { Ask, Charge, HoldRequest } from '../../core/engine/ask.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { constants } from './scripts.gen.ts'
import { holdKinds } from './stored-subject.ts'

const codes = {
  take: constants.TAKE,
  settle: constants.SETTLE,
  extend: constants.EXTEND,
  refund: constants.REFUND,
  reset: constants.RESET,
  debit: constants.DEBIT,
  raise: constants.RAISE,
  resize: constants.RESIZE,
  block: constants.BLOCK_FOR,
} as const

/** Asks as `lua/decide.lua` takes them: one flat list, and the limit sets that it refers to. */
export class AskList {
  readonly sets: LimitSet[] = []
  readonly #out: (number | string)[] = []
  /** Where the last ask stands when it was a take of one subject: the next like it is folded into it. */
  #lastTake = -1

  /** `indices` are those of the ask's subjects among the keys. */
  add(ask: Ask, indices: readonly number[]): void {
    if (ask.kind === 'take' && ask.hold === undefined && indices.length === 1) {
      this.#takeOne(indices[0]!, ask.charges[0]!, ask.copies)
      return
    }
    this.#lastTake = -1
    // A peek changes nothing, so the script need not know of it: its subjects are read all the same.
    if (ask.kind === 'peek') return
    const out = this.#out
    out.push(codes[ask.kind], indices.length)
    for (const [c, charge] of ask.charges.entries()) out.push(indices[c]! + 1, this.#setOf(charge.limits), charge.cost)
    switch (ask.kind) {
      case 'take':
        out.push(ask.hold?.id ?? '', ask.hold?.ttlUs ?? 0, ask.hold ? holdCode(ask.hold) : 0)
        return
      case 'settle':
      case 'resize':
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
        return
      case 'block':
        out.push(ask.forUs)
        return
      case 'raise':
        out.push(ask.units)
    }
  }

  /** The terms of the sets that block. */
  get blocks(): readonly (readonly number[])[] {
    return this.sets.flatMap(({ block }, s) => {
      if (block === undefined) return []
      const counts = block.counts === 'denials' ? constants.DENIALS : constants.CHARGES
      return [[s + 1, counts, block.after, block.withinMs, block.forMs, block.grow, block.maxMs]]
    })
  }

  toString(): string {
    return JSON.stringify(this.#out)
  }

  /**
   * Takes of the same cost and limits fold together: on one subject into one take of more copies, on one subject after
   * the other into one walk over them. Either is decided as if each came by itself.
   */
  #takeOne(index: number, { limits, cost }: Charge, copies: number): void {
    const out = this.#out
    const at = this.#lastTake
    if (at >= 0 && out[at + 3] === this.#setOf(limits) && out[at + 4] === cost) {
      if (out[at + 1] === index + 1 && out[at + 2] === index + 1) {
        out[at + 5] = (out[at + 5] as number) + copies
        return
      }
      if (out[at + 2] === index && out[at + 5] === copies) {
        out[at + 2] = index + 1
        return
      }
    }
    this.#lastTake = out.length
    out.push(constants.TAKE_EACH, index + 1, index + 1, this.#setOf(limits), cost, copies)
  }

  /** Lua counts from 1. */
  #setOf(set: LimitSet): number {
    const known = this.sets.indexOf(set)
    return known >= 0 ? known + 1 : this.sets.push(set)
  }
}

function holdCode({ kind, permitsOnly }: HoldRequest): number {
  return permitsOnly ? constants.PERMITS_ONLY : holdKinds.indexOf(kind)
}
