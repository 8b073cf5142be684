import type { UpstreamStats } from '../../packages/sluice/src/egress/egress.ts'

/** What a worker process is told when it starts. */
export interface WorkerSettings {
  readonly url: string
  readonly policyFile: string
  readonly workers: number
  readonly redisPort?: number
  readonly sentinels?: readonly { readonly host: string; readonly port: number }[]
  readonly masterName?: string
}

/** What a worker process says of itself. */
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
