import { StoreError } from '../core/errors.ts'

/** Why Redis refuses the account of a client, with the remedy; undefined for failures of other kinds. */
export function missingRight(error: unknown): string | undefined {
  if (!(error instanceof StoreError) || error.kind !== 'auth') return undefined
  const rights = 'keys ~sluice:* and ~{sluice:*, channels &sluice:*, and the commands that docs/redis.md lists'
  return `Redis refuses this account (${error.message.replace(/^Redis: /, '')}). It needs ${rights}.`
}
