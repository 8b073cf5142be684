import type { Dispatcher } from 'undici'
import { encodeKey } from '../../core/key.ts'
import type { CallOptions } from '../egress.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'
import type { Undici } from './load-undici.ts'

/** What a call needs to know beside its request. */
export interface CallContext {
  readonly runtime: UpstreamRuntime
  readonly undici: Undici
  /** What the request is sent through once it has its grant. */
  readonly transport: Dispatcher['dispatch']
  readonly options: CallOptions
  readonly timeoutMs?: number | undefined
  /** What the caller learns beside the response itself. */
  readonly onResponse: ((about: { readonly waitMs: number; readonly attempts: number }) => void) | undefined
}

/** Tenants and scopes come from requests: in shared state they are short and plain, and distinct ones stay distinct. */
export function nameOf(text: string | undefined): string {
  return text === undefined || text === '' ? '' : encodeKey(text)
}
