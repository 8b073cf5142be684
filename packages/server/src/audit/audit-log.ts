import type { Logger } from 'pino'
import type { AuditEntry } from '../shapes/policy.ts'

/** Who changed something: whose token it was, how they signed in, and from where. */
export interface Actor {
  readonly name: string
  readonly via: 'token' | 'page'
  readonly address: string
}

const maxEntries = 1000
/** Of `before` and `after`, each. */
const maxText = 4000

/**
 * What was changed through this daemon, by whom: the newest are kept in memory for the page, and every one is a line of
 * the log, which is what lasts.
 */
export class AuditLog {
  readonly #entries: AuditEntry[] = []
  readonly #log: Logger
  readonly #now: () => Date
  #lastId = 0

  constructor(log: Logger, now: () => Date = () => new Date()) {
    this.#log = log
    this.#now = now
  }

  add(change: Omit<AuditEntry, 'id' | 'when'>): void {
    const entry = {
      id: ++this.#lastId,
      when: this.#now().toISOString(),
      ...change,
      before: bounded(change.before),
      after: bounded(change.after),
    }
    this.#entries.push(entry)
    if (this.#entries.length > maxEntries) this.#entries.shift()
    const { when: _, ...fields } = entry
    this.#log.info({ audit: fields }, 'changed by an operator')
  }

  /** Newest first. */
  newest(limit: number): readonly AuditEntry[] {
    return this.#entries.slice(-limit).reverse()
  }
}

/** A value small enough to keep: a long one is cut, as text. */
function bounded(value: unknown): unknown {
  const text = JSON.stringify(value) ?? 'null'
  return text.length <= maxText ? (value ?? null) : `${text.slice(0, maxText)}…`
}
