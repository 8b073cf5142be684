import type { Setup } from '../contenders/contender.ts'
import type { ContenderName } from '../contenders/index.ts'
import type { Load, RoundResult } from './round.ts'

/** What the bench sends to the process of a contender, one at a time. */
export type Request =
  | {
      readonly kind: 'open'
      readonly contender: ContenderName
      readonly setup: Setup
      readonly subjects: number
      readonly passes: number
    }
  | { readonly kind: 'round'; readonly load: Load }
  | { readonly kind: 'close' }

export type Reply =
  | { readonly kind: 'done'; readonly result?: RoundResult }
  | { readonly kind: 'failed'; readonly error: string }
