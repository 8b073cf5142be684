import { type HotKey, HotKeys } from './hot-keys.ts'

/** How long one generation of counts lasts. */
const generationMs = 60_000

/** The most frequent keys of the last one to two minutes: keys that have cooled down make way. */
export class RecentHotKeys {
  readonly #capacity: number
  #current: HotKeys
  #former: HotKeys
  #begunMs: number
  #formerMs: number

  constructor(capacity: number, nowMs: number) {
    this.#capacity = capacity
    this.#current = new HotKeys(capacity)
    this.#former = new HotKeys(capacity)
    this.#begunMs = nowMs
    this.#formerMs = nowMs
  }

  add(key: string, count: number, nowMs: number): void {
    this.#rotate(nowMs)
    this.#current.add(key, count)
  }

  top(limit: number, nowMs: number): { readonly keys: HotKey[]; readonly overMs: number } {
    this.#rotate(nowMs)
    const sums = new Map<string, { key: string; count: number; error: number }>()
    for (const generation of [this.#current, this.#former]) {
      for (const { key, count, error } of generation.top(this.#capacity)) {
        const sum = sums.get(key) ?? { key, count: 0, error: 0 }
        sum.count += count
        sum.error += error
        sums.set(key, sum)
      }
    }
    const keys = [...sums.values()].sort((a, b) => b.count - a.count).slice(0, limit)
    return { keys, overMs: nowMs - this.#formerMs }
  }

  #rotate(nowMs: number): void {
    const passedMs = nowMs - this.#begunMs
    if (passedMs < generationMs) return
    this.#former = passedMs < 2 * generationMs ? this.#current : new HotKeys(this.#capacity)
    this.#formerMs = passedMs < 2 * generationMs ? this.#begunMs : nowMs
    this.#current = new HotKeys(this.#capacity)
    this.#begunMs = nowMs
  }
}
