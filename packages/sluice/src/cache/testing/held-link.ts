import type { CacheLink, ClaimReply, ReadWaiter, StoredValue } from '../link/cache-link.ts'
import { StoredCopyBytes, stampCopy, timeText } from '../link/stored-value.ts'
import type { Invalidation, LogReply } from '../protocol/messages.ts'

/** A Redis in process whose replies can be held back, so that a test decides what comes between. */
export class HeldLink implements CacheLink {
  readonly connection = 1
  readonly values: Map<string, Buffer> = new Map<string, Buffer>()
  /** Holds back the replies of reads, or of sets, or fails invalidations. */
  holds: 'reads' | 'sets' | undefined
  fails = false
  readonly #held: (() => void)[] = []
  readonly #claims = new Set<string>()
  readonly #nowUs: () => number
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

  readOne(key: string, _withinMs: number, waiter: ReadWaiter): void {
    const found = this.#stored(key)
    queueMicrotask(() => waiter.resolve(found))
  }

  async claim(key: string, _token: string, _claimMs: number, rejected: string): Promise<ClaimReply> {
    const stored = this.#stored(key)
    if (stored && stored.bytes.toString('latin1', 0, 16) !== rejected) return { kind: 'stored', stored }
    if (this.#claims.has(key)) return { kind: 'held', forMs: 100 }
    this.#claims.add(key)
    return { kind: 'granted' }
  }

  async renew(): Promise<boolean> {
    return true
  }

  async store(key: string, _token: string, bytes: Buffer): Promise<number> {
    this.#claims.delete(key)
    return this.put(key, bytes)
  }

  async set(key: string, bytes: Buffer): Promise<{ message: Invalidation; id: number }> {
    this.#sequence += 1
    const message = { generation: 'g', sequence: this.#sequence, scopes: [`k:${key}`] }
    const id = this.put(key, stampCopy(bytes, message))
    if (this.holds === 'sets') await new Promise<void>((resolve) => this.#held.push(resolve))
    return { message, id }
  }

  async release(key: string): Promise<void> {
    this.#claims.delete(key)
  }

  async invalidate(scopes: readonly string[]): Promise<Invalidation> {
    if (this.fails) throw new Error('Redis does not answer')
    this.#sequence += 1
    for (const scope of scopes) this.values.delete(scope.slice(2))
    return { generation: 'g', sequence: this.#sequence, scopes }
  }

  async waitForReplicas(): Promise<void> {}

  async sync(): Promise<LogReply> {
    if (this.fails) throw new Error('Redis does not answer')
    const floors = { scopeFloor: 0, keyFloor: 0 }
    return { generation: 'g', sequence: this.#sequence, since: undefined, ...floors, changes: [] }
  }

  subscribe(): () => void {
    return () => undefined
  }

  async close(): Promise<void> {}

  put(key: string, bytes: Buffer): number {
    const id = this.#nowUs()
    this.values.set(key, Buffer.concat([Buffer.from(timeText(id)), bytes]))
    return id
  }

  #stored(key: string): StoredValue | undefined {
    const bytes = this.values.get(key)
    return bytes && StoredCopyBytes.whole(bytes, this.#nowUs())
  }
}
