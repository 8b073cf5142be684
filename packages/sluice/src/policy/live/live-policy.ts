import { SluiceError } from '../../core/errors.ts'
import { toError } from '../../core/to-error.ts'
import type { CompiledPolicy } from '../compile/compiled-policy.ts'
import { parseDocument } from '../document/parse-document.ts'
import type { PolicySource, SourcedDocument, SourceListener } from './source.ts'

/** How the policy in force stands. */
export interface PolicyStatus {
  readonly version: string
  /** Since the version in force was loaded. */
  readonly ageMs: number
  readonly source: string
  /** Why the newest document is not in force, or the source not reachable. */
  readonly lastError: Error | undefined
}

export interface LivePolicyOptions {
  readonly source: PolicySource
  /** Makes a policy of a parsed document; throws when it does not make sense. */
  readonly compile: (document: unknown) => CompiledPolicy
  /** A document to begin with when the source has no good one at start. Without it, that is an error. */
  readonly fallback?: unknown
  readonly onLoaded?: (policy: CompiledPolicy) => void
  readonly onRejected?: (error: Error) => void
  /** Milliseconds from any origin; only differences count. */
  readonly now?: () => number
}

/** A policy that follows its source. */
export interface LivePolicy {
  /** The version in force. It never changes by itself: whoever holds on to it stays on that version. */
  readonly current: CompiledPolicy
  readonly status: PolicyStatus
  close(): Promise<void>
}

/** After a slow compilation the process gets as long for other work, up to this, before the next one. */
const longestPauseMs = 5000

/** Loads the policy of a source and follows it: the newest good document is in force, a bad one is refused whole. */
export async function livePolicy(options: LivePolicyOptions): Promise<LivePolicy> {
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
  readonly #options: LivePolicyOptions
  readonly #now: () => number
  #current: CompiledPolicy | undefined
  #loadedMs = 0
  #sourceError: Error | undefined
  #documentError: Error | undefined
  /** The newest document that waits to be compiled; those it replaced never are. */
  #pending: SourcedDocument | undefined
  #newest = Number.NEGATIVE_INFINITY
  #compiledMs = Number.NEGATIVE_INFINITY
  #compileTookMs = 0
  #timer: NodeJS.Timeout | undefined
  #starting = true
  #closed = false

  constructor(options: LivePolicyOptions) {
    this.#options = options
    this.#now = options.now ?? (() => performance.now())
  }

  get current(): CompiledPolicy {
    if (this.#current === undefined) throw new SluiceError('SLUICE_SOURCE_FAILED', 'no policy is loaded yet')
    return this.#current
  }

  get status(): PolicyStatus {
    return {
      version: this.current.version,
      ageMs: Math.max(0, this.#now() - this.#loadedMs),
      source: this.#options.source.description,
      lastError: this.#sourceError ?? this.#documentError,
    }
  }

  async start(): Promise<void> {
    const { source, fallback } = this.#options
    // Compiled first, so that a wrong fallback shows on a good day and not in the first outage.
    const spare = fallback === undefined ? undefined : this.#compile(fallback)
    try {
      const first = await source.start(this)
      // Something newer may have been pushed while the first answer was on its way.
      if (this.#pending === undefined || isOlder(this.#pending, first)) this.#pending = first
      this.#sourceError = undefined
    } catch (error) {
      this.#sourceError = toError(error)
      if (spare === undefined) throw error
      this.#options.onRejected?.(this.#sourceError)
    }
    this.#starting = false
    this.#load()
    if (this.#current === undefined && spare === undefined) throw this.#documentError
    if (this.#current === undefined && spare !== undefined) this.#accept(spare)
  }

  changed(document: SourcedDocument): void {
    if (this.#closed) return
    const { revision } = document
    if (revision !== undefined) {
      if (revision < this.#newest) return
      this.#newest = revision
    }
    this.#sourceError = undefined
    this.#pending = document
    this.#schedule()
  }

  failed(error: Error): void {
    if (this.#closed) return
    this.#sourceError = toError(error)
    if (!this.#starting) this.#options.onRejected?.(this.#sourceError)
  }

  recovered(): void {
    this.#sourceError = undefined
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    this.#pending = undefined
    await this.#options.source.close()
  }

  /** A burst of changes costs one compilation per turn of the loop, and fewer when compiling takes long. */
  #schedule(): void {
    if (this.#starting || this.#timer !== undefined) return
    const pauseMs = Math.min(this.#compileTookMs, longestPauseMs) - (performance.now() - this.#compiledMs)
    this.#timer = setTimeout(() => this.#load(), Math.max(0, pauseMs))
    this.#timer.unref()
  }

  #load(): void {
    this.#timer = undefined
    const sourced = this.#pending
    this.#pending = undefined
    if (sourced === undefined || this.#closed) return
    if (sourced.revision !== undefined) this.#newest = Math.max(this.#newest, sourced.revision)
    let policy: CompiledPolicy
    try {
      policy = this.#compile(sourced.document)
    } catch (error) {
      this.#documentError = toError(error)
      this.#options.onRejected?.(this.#documentError)
      return
    }
    this.#documentError = undefined
    this.#accept(policy)
  }

  #compile(document: unknown): CompiledPolicy {
    const begunMs = performance.now()
    try {
      return this.#options.compile(typeof document === 'string' ? parseDocument(document) : document)
    } finally {
      this.#compiledMs = performance.now()
      this.#compileTookMs = this.#compiledMs - begunMs
    }
  }

  #accept(policy: CompiledPolicy): void {
    this.#current = policy
    this.#loadedMs = this.#now()
    this.#options.onLoaded?.(policy)
  }
}

/** Whether `a` is known to be older than `b`. */
function isOlder(a: SourcedDocument, b: SourcedDocument): boolean {
  return a.revision !== undefined && b.revision !== undefined && a.revision < b.revision
}
