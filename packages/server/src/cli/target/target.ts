import type { Inspection, RequestView } from 'sluice'
import type { DecisionJson, LimitJson } from '../../http/decision-json.ts'
import type { NamedKey } from './subject.ts'

export interface SpendOptions {
  readonly cost: number | undefined
  readonly tier: string | undefined
}

/** Which rules apply to a request, in the shape the daemon answers with and `--json` prints. */
export interface ExplanationJson {
  readonly service: string
  readonly policyVersion: string
  readonly rules: readonly {
    readonly rule: string
    readonly mode: 'enforce' | 'shadow'
    readonly matched: boolean
    readonly why: string
    readonly key: string | null
    readonly tier: string | null
    readonly cost: number | null
    readonly limits: readonly LimitJson[]
  }[]
  readonly decision: DecisionJson
}

export type InspectionJson = Omit<Inspection, 'limits'> & { readonly limits: readonly LimitJson[] }

/** What commands on keys and requests work on: a daemon, or a store with a policy. */
export interface Target {
  /** For people: where the answers come from. Never contains a secret. */
  readonly description: string
  take(key: NamedKey, options: SpendOptions): Promise<DecisionJson>
  check(request: RequestView, options: SpendOptions): Promise<DecisionJson>
  explain(request: RequestView): Promise<ExplanationJson>
  inspect(key: NamedKey): Promise<InspectionJson>
  reset(key: NamedKey): Promise<void>
  close(): Promise<void>
}
