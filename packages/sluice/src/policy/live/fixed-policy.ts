import { asyncDispose } from '../../core/async-dispose.ts'
import type { Clock } from '../../core/clock.ts'
import { Emitter } from '../../core/observe/emitter.ts'
import type { CompiledPolicy } from '../compiled-policy.ts'
import type { PolicyDocument } from '../document/document.ts'
import { type LivePolicy, type PolicyEvents, policyEventNames } from './live-policy.ts'

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
