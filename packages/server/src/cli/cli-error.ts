import { isSluiceError, StoreError } from 'sluice/internal'
import type { ExitCode } from './command.ts'

/** Ends a command with a message for people and a code for scripts. */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly exitCode: ExitCode
  /** A stable word for `--json`, such as `wrong-use`. */
  readonly code: string
  /** What to do about it, on a line of its own. */
  readonly hint: string | undefined

  constructor(exitCode: ExitCode, code: string, message: string, options: { hint?: string; cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.exitCode = exitCode
    this.code = code
    this.hint = options.hint
  }
}

export function wrongUse(message: string, hint?: string): CliError {
  return new CliError(2, 'wrong-use', message, hint === undefined ? {} : { hint })
}

export function outOfReach(message: string, options: { hint?: string; cause?: unknown } = {}): CliError {
  return new CliError(3, 'out-of-reach', message, options)
}

const networkCodes = /^(ECONN|ENOTFOUND|EHOST|ENET|EAI_|ETIMEDOUT|EPIPE|UND_ERR)/
const networkNames = /^(Mongo(Network|ServerSelection)|MaxRetriesPerRequest|ClusterAllFailed|AbortError|TimeoutError)/
const credentials = /\b(WRONGPASS|NOAUTH|NOPERM)\b|password authentication failed|Authentication failed/

/** Whatever was thrown, as an error with an exit code. */
export function toCliError(thrown: unknown): CliError {
  if (thrown instanceof CliError) return thrown
  const error = thrown instanceof Error ? thrown : new Error(String(thrown))
  const { message } = error
  const code = String((error as { code?: unknown }).code ?? '')
  if (/^SLUICE_(INVALID_(POLICY|PIPELINE)|PIPELINE_FAILED)$/.test(code))
    return new CliError(1, code, message, { cause: error })
  if (error instanceof StoreError) return new CliError(error.kind === 'auth' ? 4 : 3, code, message, { cause: error })
  if (code === 'SLUICE_SOURCE_FAILED') return new CliError(3, code, message, { cause: error })
  if (isSluiceError(error)) return new CliError(2, code, message, { cause: error })
  if (credentials.test(message)) return new CliError(4, 'not-permitted', message, { cause: error })
  if (code === 'ENOENT' || code === 'EACCES' || code === 'EISDIR')
    return new CliError(2, 'file', message, { cause: error })
  if (networkCodes.test(code) || networkNames.test(error.name)) return outOfReach(message || code, { cause: error })
  return new CliError(70, 'fault', message, { cause: error })
}
