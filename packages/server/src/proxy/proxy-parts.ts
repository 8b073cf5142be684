import type { Logger } from 'pino'
import type { Egress } from 'sluice/egress'
import type { Callers } from './callers.ts'
import type { OpenCalls } from './open-calls.ts'

/** What the calls of a proxy have in common. */
export interface ProxyParts {
  readonly egress: Egress
  readonly log: Logger
  readonly calls: OpenCalls
  readonly callers: Callers
  /** The headers with the vendor's credentials for an upstream. */
  readonly credentials: (upstream: string) => Readonly<Record<string, string>> | undefined
  readonly maxBodyBytes: number
  readonly bodyIdleMs: number
  readonly readIdleMs: number
}
