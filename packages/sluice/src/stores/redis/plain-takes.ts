import type { State } from '../../core/algorithms/state.ts'
import type { Answer, Ask, TakeAsk } from '../../core/engine/ask.ts'
import type { LimitSet } from '../../core/engine/limit-set.ts'
import { takePaced } from '../../core/engine/take-paced.ts'
import { takeWindows } from '../../core/engine/take-windows.ts'
import type { MsgpackReader } from '../../redis/msgpack.ts'
import { encodeLimitSet, encodeLoneTake, isOneWindow, maxPlainLimits } from './limit-codec.ts'
import { passingState, readPlain } from './plain-state.ts'
import { constants } from './scripts.gen.ts'

/** Where the first set stands in the list that `lua/plain-takes.lua` takes. */
const firstSet = 2

/**
 * The takes of a batch, as long as it consists of nothing but those that `lua/plain-takes.lua` can decide: without
 * holds, of subjects whose limits are all windows or one calendar limit and its pace, each subject always for the same
 * cost. Such asks of different subjects do not touch each other, so that all on one subject become one take of more
 * copies, and a subject that is asked for only once needs no state of its own here.
 */
export class PlainTakes {
  /** By subject. */
  readonly #sets: LimitSet[] = []
  readonly #costs: number[] = []
  readonly #copies: number[] = []
  #all = true
  /** The set that was last found to be one of windows. */
  #windows: LimitSet | undefined

  /** Whether there is nothing else in the batch. */
  get all(): boolean {
    return this.#all
  }

  /** `place` is that of the ask's subject among the keys; negative when it has several. */
  add(ask: Ask, place: number): void {
    if (!this.#all) return
    // What spends nothing begins no window: that is for the general way.
    if (place < 0 || ask.kind !== 'take' || ask.hold !== undefined || ask.copies < 1 || ask.charges[0]!.cost === 0) {
      this.#all = false
      return
    }
    const { limits, cost } = ask.charges[0]!
    if (place === this.#copies.length) {
      if (limits !== this.#windows) {
        this.#all = limits.paced || (limits.windows && limits.limits.length <= maxPlainLimits)
        this.#windows = limits
      }
      this.#sets.push(limits)
      this.#costs.push(cost)
      this.#copies.push(ask.copies)
    } else if (this.#sets[place] === limits && this.#costs[place] === cost) {
      this.#copies[place]! += ask.copies
    } else {
      this.#all = false
    }
  }

  /**
   * ARGV of `lua/decide.lua` after the deadline: the sets and the asks for the general way, and both in short. Subjects
   * one after the other that are asked for the same make one run. `nowMs` is the server's time, as far as it is known.
   */
  encode(nowMs: number): readonly string[] {
    const sets = this.#sets
    const [only] = sets
    const costs = this.#costs
    const copies = this.#copies
    if (sets.length === 1 && isOneWindow(only!)) return encodeLoneTake(only!, costs[0]!, copies[0]!, nowMs)
    const known: LimitSet[] = []
    const places: number[] = []
    let place = firstSet
    let general = ''
    let windows = ''
    let asks = ''
    let runs = ''
    for (let first = 0, next = 1; first < sets.length; next++) {
      const set = sets[first]!
      if (sets[next] === set && costs[next] === costs[first] && copies[next] === copies[first]) continue
      let s = known.indexOf(set)
      if (s < 0) {
        s = known.push(set) - 1
        places.push(place)
        place += 1 + (set.paced ? constants.PACED_WIDTH : constants.WINDOW_WIDTH * set.limits.length)
        const encoded = encodeLimitSet(set, nowMs)
        general += `${s === 0 ? '' : ','}${encoded.general}`
        windows += `,${encoded.windows}`
      }
      const what = `${costs[first]},${copies[first]}`
      asks += `${first === 0 ? '' : ','}${constants.TAKE_EACH},${first + 1},${next},${s + 1},${what}`
      runs += `,${next},${places[s]},${what}`
      first = next
    }
    return [`[${general}]`, `[${asks}]`, `[${place}${windows}${runs}]`]
  }

  /**
   * Runs the asks on the states as the script found them, read one after the other. Returns how much was granted;
   * undefined when a state is not plain, in which case the general way has to be gone.
   */
  replay(
    asks: readonly Ask[],
    places: readonly number[],
    reader: MsgpackReader,
    clockUs: number,
    answers: Answer[],
  ): number | undefined {
    const kept: State[] = []
    let granted = 0
    let read = 0
    for (let a = 0; a < asks.length; a++) {
      const ask = asks[a] as TakeAsk
      const place = places[a]!
      let state = kept[place] ?? passingState
      if (place >= read) {
        read += 1
        const set = this.#sets[place]!
        if (this.#copies[place] !== ask.copies) {
          state = { n: new Float64Array(set.fields), at: 0, extra: undefined }
          kept[place] = state
        }
        if (!readPlain(reader, set, state.n, clockUs)) return undefined
      }
      const charge = ask.charges[0]!
      const answer = charge.limits.paced
        ? takePaced(charge, state, ask.copies, clockUs)
        : takeWindows(charge, state, ask.copies, clockUs)
      granted += answer.granted
      answers.push(answer)
    }
    return granted
  }
}
