import type { RequestView } from 'sluice'
import type { Decision, Explanation, Inspection } from '../../shapes/decisions.ts'
import type { NamedKey } from './subject.ts'

export interface SpendOptions {
  readonly cost: number | undefined
  readonly tier: string | undefined
  /** Of a rule whose classes share its limit. */
  readonly class: string | undefined
}

/** What commands on keys and requests work on: a daemon, or a store with a policy. */
export interface Target {
  /** For people: where the answers come from. Never contains a secret. */
  readonly description: string
  take(key: NamedKey, options: SpendOptions): Promise<Decision>
  check(request: RequestView, options: SpendOptions): Promise<Decision>
  explain(request: RequestView): Promise<Explanation>
  inspect(
    key: NamedKey,
    tier: string | undefined,
  ): Promise<Pick<Inspection, 'key' | 'rule' | 'limits' | 'fixed' | 'tierUnknown' | 'degraded' | 'holds'>>
  reset(key: NamedKey): Promise<void>
  block(key: NamedKey, length: string): Promise<void>
  /** False when it was not blocked. */
  unblock(key: NamedKey): Promise<boolean>
}
