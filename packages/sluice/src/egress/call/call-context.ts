import type { Dispatcher } from 'undici'
import { encodeKey } from '../../core/key.ts'
import type { CallOptions } from '../egress.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'
import type { HeaderFields } from './header-fields.ts'
import type { Undici } from './load-undici.ts'

/** What a call needs besides its request. */
export interface CallContext {
  readonly runtime: UpstreamRuntime
  readonly undici: Undici
  /** What the request is sent through once it has its grant. */
  readonly transport: Dispatcher['dispatch']
  readonly options: CallOptions
  readonly timeoutMs?: number | undefined
  /** What the caller receives besides the response itself. */
  readonly onResponse: ((about: ResponseAbout) => void) | undefined
}

/** About a response that is passed on. */
export interface ResponseAbout {
  readonly waitMs: number
  readonly attempts: number
  readonly fields: HeaderFields
}

/** Tenants and scopes come from requests. In shared state they are escaped and bounded; distinct ones stay distinct. */
export function nameOf(text: string | undefined): string {
  return text === undefined || text === '' ? '' : encodeKey(text)
}
