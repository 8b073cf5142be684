import type { Invalidation } from '../protocol/messages.ts'

/**
 * Reads a published invalidation: generation, sequence and scopes, separated by spaces. Undefined for anything else.
 */
export function parseMessage(text: string): Invalidation | undefined {
  const [generation, digits, ...scopes] = text.split(' ')
  const sequence = Number(digits)
  if (!generation || !Number.isSafeInteger(sequence) || sequence < 1 || scopes.length === 0) return undefined
  return { generation, sequence, scopes }
}
