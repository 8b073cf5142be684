/** Every code a Sluice error can carry; `docs/errors.md` says what each means. */
export const errorCodes = [
  'SLUICE_INVALID_OPTION',
  'SLUICE_INVALID_KEY',
  'SLUICE_INVALID_COST',
  'SLUICE_INVALID_POLICY',
  'SLUICE_UNKNOWN_RULE',
  'SLUICE_WRONG_USE',
  'SLUICE_MISSING_PEER',
  'SLUICE_STORE_FAILED',
  'SLUICE_OVERLOADED',
  'SLUICE_STORE_FULL',
  'SLUICE_SOURCE_FAILED',
  'SLUICE_POLICY_CHANGED',
  'SLUICE_BREAKER_OPEN',
  'SLUICE_REFUSED',
  'SLUICE_TIMEOUT',
  'SLUICE_UPSTREAM_FAILED',
  'SLUICE_UNKNOWN_UPSTREAM',
  'SLUICE_INVALID_EVENT',
  'SLUICE_EVENT_TOO_LARGE',
  'SLUICE_BUFFER_FULL',
  'SLUICE_BUFFER_FAILED',
  'SLUICE_INVALID_PIPELINE',
  'SLUICE_PIPELINE_FAILED',
  'SLUICE_REPORT_FAILED',
  'SLUICE_CLOSED',
] as const

/** A stable code that identifies what went wrong, whatever the message says. */
export type ErrorCode = (typeof errorCodes)[number]

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

/** Whether an error is one of Sluice's, also when two copies or versions of the package are loaded. */
export function isSluiceError(error: unknown): error is SluiceError {
  return error instanceof Error && /^SLUICE_/.test(String((error as { code?: unknown }).code))
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
