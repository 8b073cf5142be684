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

export interface VendorSettings {
  /** How long the vendor takes to answer. */
  readonly answerMs: number
  /** A relay in front of the vendor delays what it passes on by up to this. */
  readonly relayMs?: number
  /** The vendor counts requests by itself, and reports what is left. */
  readonly reports?: { readonly amount: number; readonly periodMs: number }
}

export interface VendorReport {
  /** By the clock of the machine. */
  readonly arrivals: readonly number[]
  /** By how much the vendor itself was late at most. */
  readonly lateMs: number
}

/** A clock that is the same in all processes of the machine, in milliseconds. */
export function machineMs(): number {
  return Number(process.hrtime.bigint() / 1000n) / 1000
}
