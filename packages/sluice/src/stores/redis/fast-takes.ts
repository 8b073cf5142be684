import type { State } from '../../core/algorithms/state.ts'
import type { Answer, Ask, Charge, TakeAsk } from '../../core/engine/ask.ts'
import { takeOne } from '../../core/engine/engine.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import { encodeLimitSet } from './encode-limit-set.ts'
import { constants } from './scripts.gen.ts'

/** Most limits of a set that `lua/fast-takes.lua` knows: with four, the stored array is still one of the short kind. */
const maxLimits = 4

const nil = 0xc0

/** What lists are before their first item, with which they are made: see `Batch`. */
const none: never[] = []

/** For subjects of which one ask is decided, and that need not be remembered for another. */
const passingState: State = { n: new Float64Array(2 * maxLimits), at: 0, extra: undefined }

/**
 * The asks of a batch, as long as it consists of nothing but takes that `lua/fast-takes.lua` can decide: without holds,
 * of subjects whose limits are all windows or one calendar limit and its pace, each subject always for the same cost.
 * Such asks of different subjects do not touch each other, so that all on one subject become one take of more copies,
 * and a subject that is asked for only once needs no state of its own here.
 */
export class FastTakes {
  /** By subject: what each of its asks charges, and how many copies they are for. */
  #charges: Charge[] = none
  #copies: number[] = none
  #isAll = true
  /** The set that was last found to be one of those. */
  #lastSet: LimitSet | undefined

  /** Whether there is nothing else in the batch. */
  get isAll(): boolean {
    return this.#isAll
  }

  /** `subject` is the index of the ask's subject among the keys; negative when it has several. */
  add(ask: Ask, subject: number): void {
    if (!this.#isAll) return
    // What spends nothing begins no window: that is for the general path.
    if (subject < 0 || ask.kind !== 'take' || ask.hold !== undefined || ask.copies < 1 || ask.charges[0]!.cost === 0) {
      this.#isAll = false
      return
    }
    const charge = ask.charges[0]!
    const { limits } = charge
    if (subject === this.#charges.length) {
      if (limits !== this.#lastSet) {
        this.#isAll = limits.paced || (limits.windows && limits.limits.length <= maxLimits)
        this.#lastSet = limits
      }
      if (subject === 0) {
        this.#charges = [charge]
        this.#copies = [ask.copies]
      } else {
        this.#charges.push(charge)
        this.#copies.push(ask.copies)
      }
    } else if (isSame(this.#charges[subject]!, charge)) {
      this.#copies[subject]! += ask.copies
    } else {
      this.#isAll = false
    }
  }

  /** The arguments of `lua/fast-takes.lua`. `nowMs` is the server's time, as far as it is known. */
  encode(nowMs: number): readonly string[] {
    const { limits, cost } = this.#charges[0]!
    const copies = this.#copies[0]!
    const { usual } = encodeLimitSet(limits, nowMs)
    if (usual === undefined || this.#runEnd(0) < this.#charges.length) return [this.#encodeList(nowMs)]
    return cost === 1 && copies === 1 ? usual : [...usual, String(cost), String(copies)]
  }

  /** Subjects one after the other that are asked for the same make one run. Returns where the one from `first` ends. */
  #runEnd(first: number): number {
    const charges = this.#charges
    const copies = this.#copies
    let end = first + 1
    while (end < charges.length && isSame(charges[end]!, charges[first]!) && copies[end] === copies[first]) end += 1
    return end
  }

  #encodeList(nowMs: number): string {
    const known: LimitSet[] = []
    const indices: number[] = []
    let end: number = constants.FIRST_SET
    let sets = ''
    let runs = ''
    for (let first = 0; first < this.#charges.length; ) {
      const { limits: set, cost } = this.#charges[first]!
      const last = this.#runEnd(first)
      let s = known.indexOf(set)
      if (s < 0) {
        s = known.push(set) - 1
        indices.push(end)
        end += 1 + (set.paced ? constants.PACED_WIDTH : constants.WINDOW_WIDTH * set.limits.length)
        sets += `,${encodeLimitSet(set, nowMs).fast}`
      }
      runs += `,${last},${indices[s]},${cost},${this.#copies[first]}`
      first = last
    }
    return `[${end}${sets}${runs}]`
  }

  /**
   * Runs the asks on the states as the script found them, read one after the other. Fills `answers` and returns how
   * much was granted; undefined when the script went the general path, because a state was anything but the limits of
   * its set.
   */
  replay(
    asks: readonly Ask[],
    subjects: readonly number[],
    reader: MsgpackReader,
    nowUs: number,
    answers: Answer[],
  ): number | undefined {
    let kept: State[] | undefined
    let granted = 0
    let read = 0
    for (let a = 0; a < asks.length; a++) {
      const ask = asks[a] as TakeAsk
      const subject = subjects[a]!
      let state = kept?.[subject] ?? passingState
      if (subject >= read) {
        read += 1
        const set = this.#charges[subject]!.limits
        if (this.#copies[subject] !== ask.copies) {
          state = { n: new Float64Array(set.fields), at: 0, extra: undefined }
          kept ??= []
          kept[subject] = state
        }
        if (!readState(reader, set, state.n, nowUs)) return undefined
      }
      const answer = takeOne(ask.charges[0]!, state, ask.copies, nowUs)
      granted += answer.granted
      answers[a] = answer
    }
    return granted
  }
}

function isSame(a: Charge, b: Charge): boolean {
  return a.limits === b.limits && a.cost === b.cost
}

/** Reads a stored subject (see `lua/state.lua`) into `n`. Returns false when it is not for the fast path. */
function readState(reader: MsgpackReader, set: LimitSet, n: Float64Array, clockUs: number): boolean {
  const { tags, limits, fields, paced } = set
  const type = reader.byte()
  if (type === nil) {
    for (let i = 0; i < fields; i++) n[i] = 0
    return true
  }
  if (type !== constants.EMPTY_ARRAY + 1 + limits.length + fields) return false
  const baseUs = reader.read() as number
  if (!(baseUs <= clockUs)) return false
  const baseMs = Math.floor(baseUs / 1000)
  for (let i = 0; i < 2 * limits.length; i += 2) {
    if (reader.read() !== tags[i >> 1]) return false
    const age = reader.read() as number
    n[i] = age === -1 ? 0 : baseMs - age
    n[i + 1] = reader.read() as number
    if (paced && i === 2) for (let f = 4; f < fields; f++) n[f] = reader.read() as number
  }
  return true
}
