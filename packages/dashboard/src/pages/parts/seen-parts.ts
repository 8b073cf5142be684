import type { PartRow } from './rows.ts'

/** A row with the current age of its figures, also after its process stopped reporting. */
export interface SeenRow extends PartRow {
  readonly seenMsAgo: number
  readonly isStale: boolean
  /** The share over about the last minute, where enough was counted. */
  readonly recentShare: number | undefined
}

/** Processes report every two seconds. */
export const staleMs = 6000
/** A process that ended or hangs stays visible for this long. */
export const forgetMs = 120_000
const recentMs = 60_000
const enough = 20

interface Seen {
  readonly row: PartRow
  readonly atMs: number
  readonly samples: { readonly atMs: number; readonly part: number; readonly whole: number }[]
}

/** Remembers what was reported: a row does not disappear with its process, and shares cover the last minute. */
export class SeenParts {
  readonly #seen = new Map<string, Seen>()

  update(rows: readonly PartRow[], nowMs: number): void {
    for (const row of rows) {
      const former = this.#seen.get(row.id)
      const samples = (former?.samples ?? []).filter(({ atMs }) => atMs > nowMs - recentMs)
      const last = samples.at(-1)
      // A process that restarted counts from zero.
      if (row.counts && last && row.counts.whole < last.whole) samples.length = 0
      if (row.counts) samples.push({ atMs: nowMs, ...row.counts })
      this.#seen.set(row.id, { row, atMs: nowMs - row.ageMs, samples })
    }
    for (const [id, { atMs }] of this.#seen) if (atMs < nowMs - forgetMs) this.#seen.delete(id)
  }

  rows(nowMs: number): readonly SeenRow[] {
    return [...this.#seen.values()].map(({ row, atMs, samples }) => {
      const seenMsAgo = Math.max(0, nowMs - atMs)
      return { ...row, seenMsAgo, isStale: seenMsAgo > staleMs, recentShare: shareOf(samples) }
    })
  }
}

function shareOf(samples: Seen['samples']): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || last.whole - first.whole < enough) return undefined
  return (last.part - first.part) / (last.whole - first.whole)
}
