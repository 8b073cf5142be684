import type { CacheLink } from '../l2/cache-link.ts'
import type { LookupReply } from '../l2/lookups.ts'
import type { Bumped } from '../protocol/messages.ts'
import { stampCopy } from '../values/stored-copy.ts'
import { datedAt, StoredValue } from '../values/stored-value.ts'

/** A Redis in process whose replies can be held back, so that a test decides what comes between. */
export class HeldLink implements CacheLink {
  readonly values: Map<string, Buffer> = new Map<string, Buffer>()
  /** Holds back the replies of reads, or of sets, or fails invalidations. */
  holds: 'reads' | 'sets' | undefined
  fails = false
  readonly #held: (() => void)[] = []
  readonly #locks = new Set<string>()
  readonly #nowUs: () => number
  readonly #changes: [scope: string, sequence: number][] = []
  #sequence = 0

  constructor(nowUs: () => number) {
    this.#nowUs = nowUs
  }

  readonly redis: CacheLink['redis'] = { connection: 1, isReachable: async () => !this.fails }

  readonly lookups: CacheLink['lookups'] = {
    add: (key, rejected, _withinMs, { resolve }) => {
      const reply = this.#lookUp(key, rejected)
      if (rejected === undefined && this.holds === 'reads') this.#held.push(() => resolve(reply))
      else queueMicrotask(() => resolve(reply))
    },
    drain: async () => undefined,
  }

  readonly stores: CacheLink['stores'] = {
    store: async (key, _token, copy) => {
      this.#locks.delete(key)
      return this.put(key, copy)
    },
    renew: async () => true,
    release: async (key) => {
      this.#locks.delete(key)
    },
    flush: () => undefined,
    drain: async () => undefined,
  }

  readonly sets: CacheLink['sets'] = {
    set: async (key, copy) => {
      this.#sequence += 1
      const message = { generation: 'g', sequence: this.#sequence, scopes: [`k:${key}`] }
      const id = this.put(key, stampCopy(copy, 'g', this.#sequence))
      if (this.holds === 'sets') await new Promise<void>((resolve) => this.#held.push(resolve))
      return { message, id }
    },
  }

  readonly log: CacheLink['log'] = {
    sync: async (position) => {
      if (this.fails) throw new Error('Redis does not answer')
      const since = position?.sequence
      const changes = this.#changes.filter(([, sequence]) => sequence > (since ?? 0))
      return { generation: 'g', sequence: this.#sequence, since, isLast: true, scopeFloor: 0, keyFloor: 0, changes }
    },
    invalidate: (scopes) => this.invalidate(scopes),
    subscribe: () => () => undefined,
    waitForReplicas: async () => undefined,
  }

  /** Releases all replies that were held back. */
  letGo(): void {
    this.holds = undefined
    for (const reply of this.#held.splice(0)) reply()
  }

  async invalidate(scopes: readonly string[]): Promise<Bumped> {
    if (this.fails) throw new Error('Redis does not answer')
    this.#sequence += 1
    for (const scope of scopes) {
      this.values.delete(scope.slice(2))
      this.#changes.push([scope, this.#sequence])
    }
    return { generation: 'g', sequence: this.#sequence, scopes, longestProofMs: 0 }
  }

  put(key: string, copy: string | Buffer): number {
    const id = this.#nowUs()
    this.values.set(key, Buffer.concat([Buffer.from(datedAt(id)), Buffer.from(copy)]))
    return id
  }

  async release(): Promise<void> {}

  #lookUp(key: string, rejected: Buffer | undefined): LookupReply {
    const bytes = this.values.get(key)
    const stored = bytes && StoredValue.whole(bytes, this.#nowUs())
    if (stored && (rejected === undefined || !stored.beginning.equals(rejected))) return stored
    if (rejected === undefined) return { kind: 'none' }
    if (this.#locks.has(key)) return { kind: 'held', forMs: 100 }
    this.#locks.add(key)
    return { kind: 'locked', token: '' }
  }
}
