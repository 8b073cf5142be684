import { SluiceError } from '../core/errors.ts'

/** Why a call was refused. */
export type RefusalReason = 'queue-full' | 'wait-too-long' | 'closed' | 'breaker-open'

/** Why a call that was sent, or was about to be, has no response. */
export type FailureReason = 'unreachable' | 'reset' | 'timeout' | 'aborted'

/** A call that was not sent, because its upstream cannot grant it in time. */
export class RefusedError extends SluiceError {
  override readonly name = 'RefusedError'
  readonly reason: RefusalReason
  readonly upstream: string
  /** How long until a call like this could be granted, as far as that is known. */
  readonly retryAfterMs: number | undefined
  /** Its position in the queue, or the one it would have had; 1 is next. */
  readonly position: number | undefined
  readonly tenant: string | undefined

  constructor(
    reason: RefusalReason,
    upstream: string,
    about: { retryAfterMs?: number | undefined; position?: number | undefined; tenant?: string | undefined } = {},
  ) {
    super(reason === 'closed' ? 'SLUICE_CLOSED' : 'SLUICE_REFUSED', sentences[reason](upstream, about), {
      transient: reason !== 'closed',
    })
    this.reason = reason
    this.upstream = upstream
    this.retryAfterMs = about.retryAfterMs
    this.position = about.position
    this.tenant = about.tenant
  }
}

interface About {
  readonly retryAfterMs?: number | undefined
  readonly position?: number | undefined
}

const sentences: Readonly<Record<RefusalReason, (upstream: string, about: About) => string>> = {
  'queue-full': (name, { position }) => `the queue of upstream ${name} is full (position ${position ?? 'unknown'})`,
  'wait-too-long': (name, { retryAfterMs }) =>
    `a grant of upstream ${name} cannot be had within the maximum wait${retryAfterMs === undefined ? '' : `; try again in ${retryAfterMs} ms`}`,
  closed: (name) => `egress was closed before upstream ${name} could be called`,
  'breaker-open': (name) => `upstream ${name} keeps failing; its breaker is open`,
}

/** A call that has no response: the vendor could not be reached, closed the connection, or took too long. */
export class UpstreamError extends SluiceError {
  override readonly name = 'UpstreamError'
  readonly reason: FailureReason
  readonly upstream: string
  /** Whether anything was written to the vendor, so that the call may have had an effect. */
  readonly written: boolean

  constructor(reason: FailureReason, upstream: string, written: boolean, cause: unknown) {
    const text = cause instanceof Error && cause.message !== '' ? `: ${cause.message}` : ''
    super('SLUICE_UPSTREAM_FAILED', `upstream ${upstream}: ${reason}${text}`, { cause, transient: true })
    this.reason = reason
    this.upstream = upstream
    this.written = written
  }
}
