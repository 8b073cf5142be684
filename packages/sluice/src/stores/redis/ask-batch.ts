import type { Ask, Charge } from '../../core/engine/ask.ts'
import { StoreError } from '../../core/errors.ts'
import type { ScriptCall } from '../../redis/runner/script-call.ts'
import type { TickBatch } from '../../redis/runner/tick-batcher.ts'
import type { Waiter } from '../callback-store.ts'

/** Asks on their way through one script call: a `LoneTake`, or a `Batch` of any others. */
export interface AskBatch extends ScriptCall, TickBatch<Ask, Waiter, AskBatch> {
  readonly withinMs: number
}

/** Who makes batches, and learns what becomes of them. */
export interface BatchOwner {
  readonly keyOf: (charge: Charge) => string
  replied(asks: number, tookMs: number): void
  ended(): void
}

/** The script and this client decide by the same rules, so what they grant must be the same. */
export function checkGranted(granted: number, counted: number): void {
  if (granted === counted) return
  throw new StoreError(
    'script',
    `The script granted ${granted} and this client counts ${counted}; are two versions of Sluice in use?`,
  )
}

export function notOurs(key: string): StoreError {
  return new StoreError('wrongtype', `A Redis key of Sluice holds a value that is not its own: ${key}`)
}
