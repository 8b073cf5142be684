import type { Logger } from 'pino'
import type { Egress } from 'sluice/egress'
import type { OpenCalls } from './open-calls.ts'

/** What the calls of a proxy have in common. */
export interface ProxyParts {
  readonly egress: Egress
  readonly log: Logger
  readonly calls: OpenCalls
  /** Whether a caller may call. */
  readonly isToken: (given: string) => boolean
  /** By upstream: headers with the vendor's credentials. */
  readonly credentials: Readonly<Record<string, Readonly<Record<string, string>>>>
  readonly maxBodyBytes: number
  readonly bodyIdleMs: number
  readonly readIdleMs: number
}
