import { Emitter } from '../core/observe/emitter.ts'
import { type CacheEvents, cacheEventNames } from './events.ts'
import { type Counts, newCounts } from './stats.ts'

/** Counts what happens in a cache and tells its listeners: the one place where both are done. */
export class CacheMonitor {
  readonly events: Emitter<CacheEvents> = new Emitter(cacheEventNames)
  readonly count: Counts = newCounts()

  hit(name: string, level: 'memory' | 'redis', stale: boolean): void {
    this.count.hits[level] += 1
    if (stale) this.count.staleServed += 1
    if (this.events.has('hit')) this.events.emit('hit', { name, level, stale })
  }

  missed(name: string): void {
    this.count.misses += 1
    if (this.events.has('missed')) this.events.emit('missed', { name })
  }

  shared(name: string): void {
    this.count.sharedFlights += 1
    if (this.events.has('shared')) this.events.emit('shared', { name })
  }

  refused(name: string): void {
    this.count.refusedFetches += 1
    this.events.emit('refused', { name })
  }

  /** A fetch has ended; `error` is undefined when it succeeded. */
  fetched(name: string, tookMs: number, failed: boolean, error: unknown): void {
    if (failed) this.count.fetchErrors += 1
    if (this.events.has('fetched')) this.events.emit('fetched', { name, tookMs, error })
  }

  skipped(name: string, reason: 'unencodable' | 'oversized' | 'damaged'): void {
    this.count.skipped[reason] += 1
    this.events.emit('skipped', { name, reason })
  }

  invalidated(way: CacheEvents['invalidated']['way'], scopes: number): void {
    this.count.invalidations[way] += way === 'received' ? 1 : scopes
    this.events.emit('invalidated', { way, scopes })
  }

  proofLost(reason: CacheEvents['proofLost']['reason']): void {
    this.count.unproven += 1
    this.events.emit('proofLost', { reason })
  }
}
