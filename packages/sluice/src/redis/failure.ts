import { type FailureKind, StoreError } from '../core/errors.ts'

const byPrefix: Readonly<Record<string, FailureKind>> = {
  READONLY: 'readonly',
  LOADING: 'loading',
  MASTERDOWN: 'readonly',
  BUSY: 'busy',
  OOM: 'oom',
  MISCONF: 'readonly',
  NOREPLICAS: 'readonly',
  MOVED: 'cluster',
  ASK: 'cluster',
  TRYAGAIN: 'cluster',
  CLUSTERDOWN: 'cluster',
  CROSSSLOT: 'cluster',
  WRONGTYPE: 'wrongtype',
  // Of our scripts, see lua/format.lua.
  FORMAT: 'format',
  NOAUTH: 'auth',
  WRONGPASS: 'auth',
  NOPERM: 'auth',
}

/** The failure of what meets a value of a later format, see lua/format.lua. */
export function unknownFormat(key: string): StoreError {
  const message = `A newer version of Sluice wrote a Redis key in a format that this one does not know: ${key}`
  return new StoreError('format', message)
}

/** The kind of failure that an error of a Redis client is. `source` is the script that was run, if any. */
export function redisFailure(error: unknown, source?: string): StoreError {
  if (error instanceof StoreError) return error
  const { message = String(error), code } = (error ?? {}) as { message?: string; code?: string }
  const kind = byPrefix[/^(?:ERR |-)?([A-Z]+)\b/.exec(message)?.[1] ?? ''] ?? connectionKind(message, code)
  const refused = kind === 'auth' && source !== undefined ? refusedCommands(message, source) : ''
  return new StoreError(kind, `Redis: ${message}${refused}`, { cause: error })
}

/** Redis names the line of a script whose command the account may not run, but not the command. */
function refusedCommands(message: string, source: string): string {
  const line = source.split('\n')[Number(/user_script:(\d+)/.exec(message)?.[1]) - 1] ?? ''
  const names = [...line.matchAll(/call\('([A-Z]+)'/g)].map(([, name]) => name)
  return names.length === 0 ? '' : ` (${names.join(' or ')})`
}

/** Whether Redis does not have the script, which therefore did not run. */
export function isMissingScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT')
}

/** Whether the keys are being moved between cluster nodes, and the script did not run for that reason. */
export function isOnTheMove(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('TRYAGAIN')
}

function connectionKind(message: string, code: string | undefined): FailureKind {
  // Redis wraps what happens inside a script: "... OOM command not allowed ... script: <sha>".
  if (/\bOOM command not allowed\b/.test(message)) return 'oom'
  if (/\bREADONLY\b/.test(message)) return 'readonly'
  if (/\b(?:NOPERM|ACL failure)\b|user executing the script can't/.test(message)) return 'auth'
  if (/DB index is out of range|SELECT is not allowed/.test(message)) return 'auth'
  if (/max number of clients/.test(message)) return 'connection'
  if (/redirections/i.test(message)) return 'cluster'
  if (code === 'ECONNREFUSED' || /ECONNREFUSED/.test(message)) return 'refused'
  if (code === 'ETIMEDOUT' || /timed? ?out/i.test(message)) return 'timeout'
  if (code !== undefined && /^E[A-Z]+$/.test(code)) return 'connection'
  if (
    /closed|connect|socket|stream|writ|offline|quit|ended|retries|sentinel|master node|unreachable|cluster|redirection/i.test(
      message,
    )
  )
    return 'connection'
  return /script|Lua|ERR /.test(message) ? 'script' : 'other'
}
