import type { CacheKey } from '../keys/cache-key.ts'
import type { StoredValue } from '../link/cache-link.ts'
import type { Verdict } from '../protocol/invalidation-view.ts'
import { stays } from '../protocol/newer.ts'
import type { CacheCore, ReadMark } from './cache-core.ts'
import { type Entry, judgeEntry } from './entry.ts'
import { readEntry } from './make-entry.ts'

/** Keeps an entry in the first level, unless it was judged to be invalid. */
export function keepEntry(core: CacheCore, entry: Entry, verdict: Verdict): Entry | undefined {
  if (verdict === 'dead') return undefined
  if (verdict === 'current') {
    entry.era = core.view.era
    entry.scopeVersion = core.view.scopeVersion
  }
  entry.uses = (core.memory.peek(entry.key)?.uses ?? 0) + 1
  core.keep(entry)
  return entry
}

/**
 * Judges what Redis answered and keeps it, in one synchronous step. Returns what is kept, which may be a newer entry
 * that arrived meanwhile; undefined for what is invalid.
 */
export function takeStored(core: CacheCore, key: CacheKey, stored: StoredValue, mark: ReadMark): Entry | undefined {
  const { view, memory, redis } = core
  const entry = readEntry(core, key, stored, mark.atMs)
  if (entry === undefined || redis?.isUnsent(entry.key, entry.scopes)) return undefined
  const verdict = view.judge(entry, mark.generation === view.generation ? mark.sequence : 0)
  const present = memory.peek(entry.key)
  if (present !== undefined && stays(present, judgeEntry(view, present), entry, verdict)) return present
  return keepEntry(core, entry, verdict)
}

/** Where an entry came from: just read from Redis, or already in process. */
export function levelOf(entry: Entry, stored: StoredValue | null | undefined): 'memory' | 'redis' {
  return stored && entry.id === stored.id ? 'redis' : 'memory'
}
