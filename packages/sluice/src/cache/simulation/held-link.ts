import type { CacheLink, LookupReply, LookupWaiter } from '../link/cache-link.ts'
import type { Bumped, Invalidation, LogReply, Position } from '../protocol/messages.ts'
import { stampCopy } from '../values/stored-copy.ts'
import { datedAt, StoredValue } from '../values/stored-value.ts'

/** A Redis in process whose replies can be held back, so that a test decides what comes between. */
export class HeldLink implements CacheLink {
  readonly connection = 1
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

  /** Releases all replies that were held back. */
  letGo(): void {
    this.holds = undefined
    for (const reply of this.#held.splice(0)) reply()
  }

  async read(keys: readonly string[]): Promise<(StoredValue | undefined)[]> {
    const found = keys.map((key) => this.#stored(key))
    if (this.holds === 'reads') await new Promise<void>((resolve) => this.#held.push(resolve))
    return found
  }

  readOrLock(key: string, rejected: Buffer, _withinMs: number, waiter: LookupWaiter): void {
    const reply = this.#readOrLock(key, rejected)
    queueMicrotask(() => waiter.resolve(reply))
  }

  async renew(): Promise<boolean> {
    return true
  }

  async store(key: string, _token: string, copy: string | Buffer): Promise<number> {
    this.#locks.delete(key)
    return this.put(key, copy)
  }

  async set(key: string, copy: string | Buffer): Promise<{ message: Invalidation; id: number }> {
    this.#sequence += 1
    const message = { generation: 'g', sequence: this.#sequence, scopes: [`k:${key}`] }
    const id = this.put(key, stampCopy(copy, 'g', this.#sequence))
    if (this.holds === 'sets') await new Promise<void>((resolve) => this.#held.push(resolve))
    return { message, id }
  }

  async release(key: string): Promise<void> {
    this.#locks.delete(key)
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

  async waitForReplicas(): Promise<void> {}

  async sync(position: Position | undefined): Promise<LogReply> {
    if (this.fails) throw new Error('Redis does not answer')
    const since = position?.sequence
    const changes = this.#changes.filter(([, sequence]) => sequence > (since ?? 0))
    return { generation: 'g', sequence: this.#sequence, since, isLast: true, scopeFloor: 0, keyFloor: 0, changes }
  }

  subscribe(): () => void {
    return () => undefined
  }

  async isReachable(): Promise<boolean> {
    return !this.fails
  }

  flush(): void {}

  async close(): Promise<void> {}

  put(key: string, copy: string | Buffer): number {
    const id = this.#nowUs()
    this.values.set(key, Buffer.concat([Buffer.from(datedAt(id)), Buffer.from(copy)]))
    return id
  }

  #readOrLock(key: string, rejected: Buffer): LookupReply {
    const stored = this.#stored(key)
    if (stored && !stored.beginning.equals(rejected)) return stored
    if (this.#locks.has(key)) return { kind: 'held', forMs: 100 }
    this.#locks.add(key)
    return { kind: 'locked', token: '' }
  }

  #stored(key: string): StoredValue | undefined {
    const bytes = this.values.get(key)
    return bytes && StoredValue.whole(bytes, this.#nowUs())
  }
}
