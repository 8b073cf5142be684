/** Every code a Sluice error can carry, with the sentence the documentation prints for it. */
export const errorCodes = {
  SLUICE_INVALID_OPTION: 'An option was given a value it cannot have.',
  SLUICE_INVALID_KEY: 'A key, or a part of one, is not something that can name a subject.',
  SLUICE_INVALID_COST: 'A cost is not a whole number of units from 0 to 10^13.',
  SLUICE_INVALID_POLICY: 'A policy does not parse or does not make sense; `issues` lists every mistake.',
  SLUICE_UNKNOWN_RULE: 'The policy in force has no rule of that name.',
  SLUICE_WRONG_USE:
    'The call is not possible on this object, such as the use of a policy source that is already in use.',
  SLUICE_MISSING_PEER: 'An optional package that this part needs is not installed.',
  SLUICE_STORE_FAILED:
    'The store, or the Redis of a part, did not answer, or answered with an error; `kind` tells which.',
  SLUICE_OVERLOADED: 'This process has more to do than it can do in time. Ask again later, or for less at once.',
  SLUICE_STORE_FULL: 'The memory store holds its maximum of subjects and every one of them is currently denied.',
  SLUICE_SOURCE_FAILED: 'The source of the policy could not be read.',
  SLUICE_POLICY_CHANGED:
    'A policy was not pushed, because another one had been pushed since the revision it was based on.',
  SLUICE_BREAKER_OPEN: 'The call was not made, because the breaker is open; `retryAfterMs` says for how much longer.',
  SLUICE_REFUSED:
    'A call was not started, because too many run or wait already; `reason`, `retryAfterMs` and `position` tell more where they are known.',
  SLUICE_TIMEOUT: 'A call, or the fetch of a cached value, did not settle within its time limit.',
  SLUICE_UPSTREAM_FAILED: 'A vendor could not be reached, ended the connection or took too long; `reason` tells which.',
  SLUICE_UNKNOWN_UPSTREAM: 'The policy in force has no upstream of that name or for that address.',
  SLUICE_INVALID_EVENT: 'An event for the shipper cannot be written as JSON.',
  SLUICE_EVENT_TOO_LARGE: 'An event for the shipper has more bytes than `maxEventBytes`.',
  SLUICE_BUFFER_FULL: 'The buffer of the shipper is full, and `onFull` does not let the event wait.',
  SLUICE_BUFFER_FAILED: 'The disk of the shipper failed; the event was not stored.',
  SLUICE_INVALID_PIPELINE:
    'A pipeline document, or its `execution`, does not make sense; `issues` lists every mistake.',
  SLUICE_PIPELINE_FAILED:
    'The run of a pipeline cannot go on, such as after too many rejected records; what was written stays, and its position too.',
  SLUICE_REPORT_FAILED: 'A daemon did not take a report.',
  SLUICE_CLOSED: 'The part was closed before the call.',
} as const

/** A stable code that identifies what went wrong, whatever the message says. */
export type ErrorCode = keyof typeof errorCodes

/** The one base class of everything Sluice throws. A denial is never thrown. */
export class SluiceError extends Error {
  override readonly name: string = 'SluiceError'
  readonly code: ErrorCode
  /** Whether the same call may succeed later without any change. */
  readonly transient: boolean

  constructor(code: ErrorCode, message: string, options: { cause?: unknown; transient?: boolean } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.code = code
    this.transient = options.transient ?? false
  }
}

/** Whether an error is one of Sluice's, also when two copies of the package are loaded. */
export function isSluiceError(error: unknown): error is SluiceError {
  return error instanceof Error && Object.hasOwn(errorCodes, (error as { code?: PropertyKey }).code ?? '')
}

/** The error for a wrong option: names the option, shows the value and what would be right. */
export function invalidOption(option: string, value: unknown, remedy: string): SluiceError {
  return new SluiceError('SLUICE_INVALID_OPTION', `${option} is ${show(value)}; ${remedy}`)
}

/** How a store failed, as far as that is known. */
export type FailureKind =
  | 'timeout'
  | 'overload'
  | 'refused'
  | 'connection'
  | 'readonly'
  | 'loading'
  | 'busy'
  | 'oom'
  | 'cluster'
  | 'wrongtype'
  | 'format'
  | 'script'
  | 'auth'
  | 'full'
  | 'breaker'
  | 'closed'
  | 'source'
  | 'other'

/** Of the failures that have a code of their own. */
const codes: { readonly [Kind in FailureKind]?: ErrorCode } = {
  full: 'SLUICE_STORE_FULL',
  closed: 'SLUICE_CLOSED',
  overload: 'SLUICE_OVERLOADED',
}

/** Of those that asking again does not end. */
const lasting: readonly FailureKind[] = ['wrongtype', 'format', 'script', 'auth', 'closed']

/**
 * A store that could not decide. The limiter turns it into a degraded decision; it reaches callers only of admin
 * operations.
 */
export class StoreError extends SluiceError {
  override readonly name = 'StoreError'
  readonly kind: FailureKind

  constructor(kind: FailureKind, message: string, options: { cause?: unknown } = {}) {
    super(codes[kind] ?? 'SLUICE_STORE_FAILED', message, {
      ...options,
      transient: !lasting.includes(kind),
    })
    this.kind = kind
  }
}

/** A value as a person would write it in a message: short, quoted, never a wall of text. */
export function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 57)}...` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'symbol') return 'a symbol'
  if (Array.isArray(value)) return `an array of ${value.length}`
  if (typeof value === 'object' && value !== null) return 'an object'
  return String(value)
}
