import type { UpstreamStats } from '../../packages/sluice/src/egress/egress.ts'

/** The settings of a worker process. */
export interface WorkerSettings {
  readonly url: string
  readonly policyFile: string
  readonly workers: number
  readonly redisPort?: number
  readonly sentinels?: readonly { readonly host: string; readonly port: number }[]
  readonly masterName?: string
}

/** What a worker process reports. */
export interface WorkerReport {
  version: string
  responses: number
  refused: number
  aborted: number
  failed: string[]
  /** How often shared state did not answer in time. */
  storeFailures: number
  stats?: UpstreamStats
}
