import type { Clock, Timer } from '../../core/clock.ts'
import { SluiceError } from '../../core/errors.ts'
import { Emitter } from '../../core/observe/emitter.ts'
import { toError } from '../../core/to-error.ts'
import type { CompiledPolicy } from '../compiled-policy.ts'
import { PolicyError } from '../document/policy-error.ts'
import {
  type LivePolicy,
  type LoadedDocument,
  type PolicyEvents,
  type PolicyStatus,
  policyEventNames,
} from './live-policy.ts'
import type { PolicySource, SourcedDocument, SourceListener } from './source.ts'

export interface FollowOptions {
  readonly source: PolicySource
  /** Makes a policy of a parsed document; throws or rejects when it does not make sense. */
  readonly compile: (document: unknown) => CompiledPolicy | Promise<CompiledPolicy>
  /** A document to begin with when the source has no good one at start. Without it, that is an error. */
  readonly fallback?: unknown
  readonly clock: Clock
}

/** After a slow compilation the process gets as long for other work, up to this, before the next one. */
const longestPauseMs = 5000

/**
 * A document with a lower revision than the one in force may come from a lagging replica of the source, or be a
 * restored backup. It takes effect when it is still there after this time.
 */
const olderPersistsMs = 5000

/** Loads the policy of a source and follows it: the newest good document is in force, a bad one is refused whole. */
export async function followPolicy(options: FollowOptions): Promise<LivePolicy> {
  const live = new FollowedPolicy(options)
  try {
    await live.start()
  } catch (error) {
    await live.close()
    throw error
  }
  return live
}

class FollowedPolicy implements LivePolicy, SourceListener {
  readonly #options: FollowOptions
  readonly #clock: Clock
  readonly #events = new Emitter<PolicyEvents>(policyEventNames)
  #current: CompiledPolicy | undefined
  #document: LoadedDocument | undefined
  #loadedMs = 0
  /** Of the first document that the source gave. */
  #service: string | undefined
  #sourceError: Error | undefined
  #documentError: Error | undefined
  /** The newest document that waits to be compiled; those it replaced never are. */
  #pending: SourcedDocument | undefined
  /** Of the document in force. Refused documents do not raise it. */
  #revision = Number.NEGATIVE_INFINITY
  /** A document that is older than the one in force, and since when it has been read. */
  #older: { readonly revision: number; readonly sinceMs: number } | undefined
  #compiledMs = Number.NEGATIVE_INFINITY
  #compileTookMs = 0
  #timer: Timer | undefined
  /** While the source starts or a document is compiled, changes wait in `#pending`. */
  #busy = true
  #closed = false

  constructor(options: FollowOptions) {
    this.#options = options
    this.#clock = options.clock
  }

  get current(): CompiledPolicy {
    if (this.#current === undefined) throw new SluiceError('SLUICE_SOURCE_FAILED', 'no policy is loaded yet')
    return this.#current
  }

  get status(): PolicyStatus {
    return {
      version: this.current.version,
      ageMs: Math.max(0, this.#clock.monotonic() - this.#loadedMs),
      source: this.#options.source.description,
      lastError: this.#sourceError ?? this.#documentError,
    }
  }

  get document(): LoadedDocument | undefined {
    return this.#document
  }

  async start(): Promise<void> {
    const { source, fallback } = this.#options
    // Compiled first, so that a wrong fallback shows on a good day and not in the first outage.
    const spare = fallback === undefined ? undefined : await this.#compile({ document: fallback, revision: undefined })
    try {
      const first = await source.start(this)
      // A newer version may have been pushed while the first answer was in flight.
      if (this.#pending === undefined || isOlder(this.#pending, first)) this.#pending = first
      this.#sourceError = undefined
    } catch (error) {
      this.#sourceError = toError(error)
      if (spare === undefined) throw error
    }
    await this.#load()
    if (this.#current === undefined && spare === undefined) throw this.#documentError
    if (this.#current === undefined && spare !== undefined) this.#accept(spare.policy, undefined)
  }

  changed(document: SourcedDocument): boolean {
    if (this.#closed) return true
    this.#sourceError = undefined
    if (this.#pending !== undefined && isOlder(document, this.#pending)) return true
    if (document.revision !== undefined && document.revision < this.#revision && !this.#persists(document.revision)) {
      return false
    }
    this.#older = undefined
    this.#pending = document
    this.#schedule()
    return true
  }

  failed(error: Error): void {
    if (this.#closed) return
    this.#sourceError = toError(error)
    if (!this.#busy) this.#reject(this.#sourceError)
  }

  emptied(): void {
    this.#revision = Number.NEGATIVE_INFINITY
    this.#older = undefined
  }

  recovered(): void {
    this.#sourceError = undefined
  }

  on<Name extends keyof PolicyEvents>(name: Name, listener: (event: PolicyEvents[Name]) => void): () => void {
    if (this.#closed) throw new SluiceError('SLUICE_CLOSED', 'The policy is closed; open a new one with openPolicy.')
    return this.#events.on(name, listener)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#clock.clearTimeout(this.#timer)
    this.#pending = undefined
    await this.#options.source.close()
  }

  /** Whether an older document has been there for long enough to be meant. Reports it when it is first read. */
  #persists(revision: number): boolean {
    const nowMs = this.#clock.monotonic()
    if (this.#older?.revision === revision) return nowMs - this.#older.sinceMs >= olderPersistsMs
    this.#older = { revision, sinceMs: nowMs }
    const message =
      `the document has revision ${revision}, which is older than revision ${this.#revision} in force; ` +
      `it takes effect if it is still there after ${olderPersistsMs / 1000} s`
    this.#documentError = new SluiceError('SLUICE_SOURCE_FAILED', message, { transient: true })
    this.#reject(this.#documentError)
    return false
  }

  /** A burst of changes costs one compilation per turn of the loop, and fewer when compiling takes long. */
  #schedule(): void {
    if (this.#busy || this.#timer !== undefined || this.#closed) return
    const pauseMs = Math.min(this.#compileTookMs, longestPauseMs) - (this.#clock.monotonic() - this.#compiledMs)
    this.#timer = this.#clock.setTimeout(() => void this.#load(), Math.max(0, pauseMs))
    this.#timer.unref?.()
  }

  async #load(): Promise<void> {
    this.#timer = undefined
    const sourced = this.#pending
    this.#pending = undefined
    if (sourced !== undefined && !this.#closed) {
      this.#busy = true
      try {
        const { policy, document } = await this.#compile(sourced)
        this.#documentError = undefined
        this.#service = policy.service
        if (sourced.revision !== undefined) this.#revision = sourced.revision
        if (!this.#closed) this.#accept(policy, document)
      } catch (error) {
        this.#documentError = toError(error)
        if (!this.#closed) this.#reject(this.#documentError)
      }
    }
    this.#busy = false
    if (this.#pending !== undefined) this.#schedule()
  }

  async #compile({ document }: SourcedDocument): Promise<{ policy: CompiledPolicy; document: LoadedDocument }> {
    const begunMs = this.#clock.monotonic()
    try {
      const parsed = typeof document === 'string' ? await parseText(document) : document
      const policy = await this.#options.compile(parsed)
      this.#checkService(policy.service)
      return { policy, document: { given: document, parsed } }
    } finally {
      this.#compiledMs = this.#clock.monotonic()
      this.#compileTookMs = this.#compiledMs - begunMs
    }
  }

  #checkService(value: string): void {
    const asked = this.#options.source.service
    const expected = asked ?? this.#service
    if (expected === undefined || value === expected) return
    const message =
      asked === undefined
        ? `the policy in force is that of ${JSON.stringify(expected)}; under another name all counters would begin anew, so this needs a restart`
        : `the source was asked for ${JSON.stringify(asked)}; a policy of another service would share its counters`
    throw new PolicyError([{ path: 'service', value, message }])
  }

  #accept(policy: CompiledPolicy, document: LoadedDocument | undefined): void {
    this.#current = policy
    this.#document = document
    this.#loadedMs = this.#clock.monotonic()
    this.#events.emit('loaded', { version: policy.version, source: this.#options.source.description })
  }

  #reject(error: Error): void {
    this.#events.emit('rejected', { source: this.#options.source.description, error })
  }
}

/** The parser is loaded when there is text: limits and documents in code need none. */
async function parseText(text: string): Promise<unknown> {
  const { parseInBackground } = await import('../document/parse/parse-in-background.ts')
  return parseInBackground(text)
}

/** Whether `a` is known to be older than `b`. */
function isOlder(a: SourcedDocument, b: SourcedDocument): boolean {
  return a.revision !== undefined && b.revision !== undefined && a.revision < b.revision
}
