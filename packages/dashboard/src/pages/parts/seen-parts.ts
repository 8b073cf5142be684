import type { PartRow } from './rows.ts'

/** A row with the current age of its figures, also after its process stopped reporting. */
export interface SeenRow extends PartRow {
  readonly seenMsAgo: number
  readonly isStale: boolean
  /** The share over about the last minute, where enough was counted. */
  readonly recentShare: number | undefined
  /** The course of its main figure while it was watched. */
  readonly course: readonly (number | undefined)[]
  /** Whether it was watched long enough to say that nothing goes wrong. */
  readonly isKnown: boolean
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
  readonly errors: readonly { readonly atMs: number; readonly count: number }[]
  readonly course: readonly (number | undefined)[]
}

/** How many values a course has, one for each report. */
const drawn = 60

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
      const count = row.errors?.count ?? 0
      const isRestarted = count < (former?.errors.at(-1)?.count ?? 0)
      const errors = [...(isRestarted ? [{ atMs: nowMs, count: 0 }] : (former?.errors ?? [])), { atMs: nowMs, count }]
      const [before, now] = samples.slice(-2)
      const calls = now && before ? now.whole - before.whole : 0
      const share = calls > 0 ? (now!.part - before!.part) / calls : undefined
      this.#seen.set(row.id, {
        ...{ row, atMs: nowMs - row.ageMs, samples },
        errors: errors.filter(({ atMs }) => atMs > nowMs - recentMs),
        course: [...(former?.course ?? []), row.trend ?? share].slice(-drawn),
      })
    }
    for (const [id, { atMs }] of this.#seen) if (atMs < nowMs - forgetMs) this.#seen.delete(id)
  }

  rows(nowMs: number): readonly SeenRow[] {
    return [...this.#seen.values()].map(({ row, atMs, samples, errors, course }) => {
      const seenMsAgo = Math.max(0, nowMs - atMs)
      const grown = (errors.at(-1)?.count ?? 0) - (errors[0]?.count ?? 0)
      const state =
        grown > 0 && row.state.kind === 'good'
          ? { kind: 'warn' as const, text: `${grown.toLocaleString('en')} ${row.errors?.what} in the last minute` }
          : row.state
      const seen = { seenMsAgo, isStale: seenMsAgo > staleMs, recentShare: shareOf(samples) }
      return { ...row, ...seen, state, course, isKnown: errors.length > 1 }
    })
  }
}

function shareOf(samples: Seen['samples']): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)]
  if (first === undefined || last === undefined || last.whole - first.whole < enough) return undefined
  return (last.part - first.part) / (last.whole - first.whole)
}
