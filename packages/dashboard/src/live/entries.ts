import type { HappeningEntry, Hello, SecondEntry } from '../api/shapes.ts'

export type { Hello }
export type Second = SecondEntry

/** Something that happened, or that this page noticed by itself. */
export type Happening =
  | HappeningEntry
  | { readonly kind: 'restarted'; readonly at: number }
  | { readonly kind: 'another-replica'; readonly at: number }

export type Entry = Second | Happening

/** The last 15 minutes, as far as they are known. Seconds that are missing are gaps. */
export interface Timeline {
  readonly seconds: ReadonlyMap<number, Second>
  readonly happenings: readonly Happening[]
}

export const windowSeconds = 15 * 60
export const noTimeline: Timeline = { seconds: new Map(), happenings: [] }

/** Adds entries to a timeline, and removes what is older than 15 minutes. */
export function withEntries(timeline: Timeline, entries: readonly Entry[]): Timeline {
  const seconds = new Map(timeline.seconds)
  const happenings = [...timeline.happenings]
  for (const entry of entries) {
    if (entry.kind === 'second') seconds.set(entry.at, entry)
    else happenings.push(entry)
  }
  const oldest = Math.max(0, ...seconds.keys()) - windowSeconds
  for (const at of seconds.keys()) if (at <= oldest) seconds.delete(at)
  return { seconds, happenings: happenings.filter(({ at }) => at > oldest).slice(-200) }
}

/**
 * What is kept when a daemon answers with everything it has. A new process sends all events since its own start, so
 * only events before its start are kept; seconds are those of the fleet and are kept.
 */
export function withHello(timeline: Timeline, before: Hello | undefined, hello: Hello, nowMs: number): Timeline {
  if (hello.resumed) return timeline
  const kept = timeline.happenings.filter(({ at }) => at * 1000 < hello.startedAt)
  if (before === undefined || before.epoch === hello.epoch) return { ...timeline, happenings: kept }
  const newest = Math.max(0, ...timeline.seconds.keys())
  const isRestart = hello.startedAt / 1000 > newest
  const seen: Happening = isRestart
    ? { kind: 'restarted', at: hello.startedAt / 1000 }
    : { kind: 'another-replica', at: nowMs / 1000 }
  return { ...timeline, happenings: [...kept, seen] }
}

/** The newest seconds, oldest first; undefined where one is missing. */
export function lastSeconds({ seconds }: Timeline, count: number): (Second | undefined)[] {
  const newest = Math.max(0, ...seconds.keys())
  return Array.from({ length: count }, (_, i) => seconds.get(newest - count + 1 + i))
}
