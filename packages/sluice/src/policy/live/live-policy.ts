import { asyncDispose } from '../../core/async-dispose.ts'
import type { Clock } from '../../core/clock.ts'
import { Emitter } from '../../core/observe/emitter.ts'
import type { CompiledPolicy } from '../compiled-policy.ts'
import type { PolicyDocument } from '../document/document.ts'

/** How the policy in force stands. */
export interface PolicyStatus {
  readonly version: string
  /** Since the version in force was loaded. */
  readonly ageMs: number
  readonly source: string
  /** Why the newest document is not in force, or the source not reachable. */
  readonly lastError: Error | undefined
}

/** A document that is in force. */
export interface LoadedDocument {
  /** As the source gave it: text, or an object. */
  readonly given: unknown
  /** The same as an object: a long text takes seconds to parse, so nothing else should. */
  readonly parsed: unknown
}

/** What happens to a policy while it is open. */
export interface PolicyEvents {
  /** Another version is in force. */
  loaded: { readonly version: string; readonly source: string }
  /** A document was refused, or the source cannot be reached; the last good version stays. */
  rejected: { readonly source: string; readonly error: Error }
}

export const policyEventNames: Readonly<Record<keyof PolicyEvents, true>> = { loaded: true, rejected: true }

/** A policy that follows its source. Made by `openPolicy`; any number of parts can share it. */
export interface LivePolicy extends AsyncDisposable {
  /** The version in force. A compiled policy never changes: a caller that keeps it stays on that version. */
  readonly current: CompiledPolicy
  readonly status: PolicyStatus
  /** What the version in force was made of; undefined for the fallback. */
  readonly document: LoadedDocument | undefined
  /** Adds a listener; the returned function removes it. A name that does not exist is refused. */
  on<Name extends keyof PolicyEvents>(name: Name, listener: (event: PolicyEvents[Name]) => void): () => void
  /** Ends following the source. Parts that share the policy keep the version in force; close them first. */
  close(): Promise<void>
}

/** A policy as one part follows it: closing ends the listeners of this part, and the policy if it is the part's own. */
export class UsedPolicy {
  readonly live: LivePolicy
  readonly #isOwn: boolean
  readonly #stops: (() => void)[] = []

  constructor(live: LivePolicy, isOwn: boolean) {
    this.live = live
    this.#isOwn = isOwn
  }

  on<Name extends keyof PolicyEvents>(name: Name, listener: (event: PolicyEvents[Name]) => void): void {
    this.#stops.push(this.live.on(name, listener))
  }

  async close(): Promise<void> {
    for (const stop of this.#stops) stop()
    if (this.#isOwn) await this.live.close()
  }
}

/** A policy that never changes. `document` says what it was made of. */
export function fixedPolicy(current: CompiledPolicy, document: PolicyDocument, clock: Clock): LivePolicy {
  const loadedMs = clock.monotonic()
  const events = new Emitter<PolicyEvents>(policyEventNames)
  const close = async (): Promise<void> => {}
  return {
    current,
    get status() {
      const ageMs = Math.max(0, clock.monotonic() - loadedMs)
      return { version: current.version, ageMs, source: 'static', lastError: undefined }
    },
    document: { given: document, parsed: document },
    on: (name, listener) => events.on(name, listener),
    close,
    [asyncDispose]: close,
  }
}
