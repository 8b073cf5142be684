import type { Answer, Ask, Charge } from '../../core/ask.ts'
import { StoreError } from '../../core/errors.ts'
import { AskList } from './ask-codec.ts'
import { encodeLimitSet } from './limit-codec.ts'
import { MsgpackReader, type Packed } from './msgpack.ts'
import { PlainTakes } from './plain-takes.ts'
import { replay } from './replay.ts'
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
 * script found, which tells each asker what the script decided without the script having to.
 */
export class Batch {
  readonly deadlineMs: number
  readonly withinMs: number
  readonly #waiting: Ask[] = []
  /** For each ask, where its subjects stand among the keys: a number when it has only one. */
  readonly #places: (number | readonly number[])[] = []
  readonly #plain = new PlainTakes()
  /** What each ask is answered; undefined when one of its keys holds what is not ours. */
  #answers: (Answer | undefined)[] = []
  /** Undefined for a key that holds what is not ours. */
  #subjects: readonly (StoredSubject | undefined)[] = []
  readonly #settled: Promise<void>
  #resolve!: () => void
  #reject!: (error: Error) => void
  readonly #keys: string[] = []
  readonly #keyIndex = new Map<string, number>()

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
    if (charges.length === 1) {
      const place = this.#indexOf(key(charges[0]!))
      this.#places.push(place)
      this.#plain.add(ask, place)
    } else {
      this.#places.push(charges.map((charge) => this.#indexOf(key(charge))))
      this.#plain.add(ask, -1)
    }
    const index = this.#waiting.push(ask) - 1
    return this.#settled.then(() => this.#answer(index))
  }

  /** ARGV of `decide.lua`. */
  args(deadlineUs: number, nowMs: number): [string, string, string, string] {
    const asks = new AskList()
    const isPlain = this.#plain.all
    if (isPlain) this.#plain.runs((...run) => asks.addEach(...run))
    else for (const [w, ask] of this.#waiting.entries()) asks.add(ask, [this.#places[w]!].flat())
    const sets = asks.sets.map((set) => encodeLimitSet(set, nowMs))
    return [String(deadlineUs), `[${sets.join()}]`, String(asks), isPlain ? this.#plain.encode(nowMs) : '']
  }

  /** Settles every ask by the script's reply, or says that the script only told its time. */
  settle(reply: Buffer): BatchReply {
    const reader = new MsgpackReader(reply)
    const status = reader.read()
    const nowUs = reader.read() as number
    const granted = reader.read() as number
    if (status !== 0) return { decided: false, nowUs }
    const total = this.#replayPlain(reader, nowUs) ?? this.#replay(reader, nowUs)
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
}

function storedSubject(packed: Packed): StoredSubject | undefined {
  if (packed === false) return undefined
  return new StoredSubject(packed === null ? undefined : (packed as Packed[]))
}
