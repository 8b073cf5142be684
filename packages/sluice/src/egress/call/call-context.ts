import type { Dispatcher } from 'undici'
import { encodeKey } from '../../core/key.ts'
import type { CallOptions } from '../egress.ts'
import type { UpstreamRuntime } from '../upstream-runtime.ts'
import type { HeaderFields } from './response-head.ts'

/** What a call needs besides its request. */
export interface CallContext {
  readonly runtime: UpstreamRuntime
  /** What the request is sent through once it has its grant; our own connections when left out. */
  readonly transport?: Dispatcher['dispatch'] | undefined
  readonly options: CallOptions
  readonly timeoutMs?: number | undefined
  /** Makes the request of a call that was booked without it. */
  deferred?: { begin(call: BookedCall): void }
  /** What the caller receives besides the response itself. */
  onResponse?: (about: ResponseAbout) => void
}

/** A call that has its grant and needs its request. One of the two is called. */
export interface BookedCall {
  adopt(request: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void
  /** There will be no request. */
  abandon(): void
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
