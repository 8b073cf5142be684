import type { LiveEntry } from '../shapes/page.ts'

interface Kept {
  readonly number: number
  readonly entry: LiveEntry
}

export interface Replay {
  /** Whether the reader has everything up to its id, so that this is only what came since. */
  readonly resumed: boolean
  readonly id: string
  readonly entries: readonly LiveEntry[]
}

const keptSeconds = 15 * 60
/** Seconds are corrected when reports come late, so there are more entries than seconds. */
const maxEntries = 6 * keptSeconds

/**
 * The last 15 minutes in the order in which they became known. Every entry has a number; an id is the epoch of this
 * process and a number, so that a reader that comes back gets what it missed, once, and one that comes back to another
 * process gets everything.
 */
export class LiveLog {
  readonly epoch: string
  readonly #listeners = new Set<(entries: readonly LiveEntry[], id: string) => void>()
  #kept: Kept[] = []
  #number = 0

  constructor(epoch: string) {
    this.epoch = epoch
  }

  append(entries: readonly LiveEntry[], nowMs: number): void {
    if (entries.length === 0) return
    for (const entry of entries) this.#kept.push({ number: ++this.#number, entry })
    const oldest = nowMs / 1000 - keptSeconds
    const first = Math.max(
      this.#kept.findIndex(({ entry }) => entry.at >= oldest),
      this.#kept.length - maxEntries,
    )
    if (first > 0) this.#kept = this.#kept.slice(first)
    for (const listener of this.#listeners) listener(entries, this.#id)
  }

  /** What a reader lacks that has seen everything up to `id`, or all of it. */
  since(id: string | undefined): Replay {
    const seen = this.#numberOf(id)
    const entries = this.#kept.filter(({ number }) => number > (seen ?? 0)).map(({ entry }) => entry)
    return { resumed: seen !== undefined, id: this.#id, entries: seen === undefined ? latestSeconds(entries) : entries }
  }

  listen(listener: (entries: readonly LiveEntry[], id: string) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  get #id(): string {
    return `${this.epoch}-${this.#number}`
  }

  /** The number of an id of this process, unless entries after it are gone already. */
  #numberOf(id: string | undefined): number | undefined {
    const [, epoch, digits] = /^([\w]+)-(\d{1,15})$/.exec(id ?? '') ?? []
    const number = Number(digits)
    const isKept = number >= (this.#kept[0]?.number ?? 1) - 1 && number <= this.#number
    return epoch === this.epoch && isKept ? number : undefined
  }
}

/** Of a second that was corrected, a new reader needs only the last entry. */
function latestSeconds(entries: readonly LiveEntry[]): LiveEntry[] {
  const last = new Map<number, LiveEntry>()
  for (const entry of entries) if (entry.kind === 'second') last.set(entry.at, entry)
  return entries.filter((entry) => entry.kind !== 'second' || last.get(entry.at) === entry)
}
