import { HeldCalls } from './held-calls.ts'
import { KeyCalls } from './key-calls.ts'
import type { CallParts } from './limiter-parts.ts'

/**
 * All calls but those that decide at once. A limiter of limits in memory loads them with the first of them; most never
 * use any.
 */
export class FurtherCalls {
  readonly held: HeldCalls
  readonly keys: KeyCalls

  constructor(parts: CallParts) {
    this.held = new HeldCalls(parts)
    this.keys = new KeyCalls(parts, this.held.giving)
  }
}
