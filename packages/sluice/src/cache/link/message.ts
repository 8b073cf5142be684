import type { Invalidation } from '../protocol/messages.ts'
import type { LinkSubscriber } from './cache-link.ts'
import type { CacheKeys } from './keys.ts'

const filled = 'filled '

/** Hands on what was published: that a key was filled, or an invalidation. Anything else is ignored. */
export function receive(text: string, { prefix }: CacheKeys, subscriber: LinkSubscriber): void {
  if (text.startsWith(filled)) subscriber.filled(text.slice(filled.length + prefix.length))
  else {
    const message = parseInvalidation(text)
    if (message !== undefined) subscriber.invalidated(message)
  }
}

/** Reads a published invalidation: generation, sequence and scopes, separated by spaces. */
function parseInvalidation(text: string): Invalidation | undefined {
  const [generation, digits, ...scopes] = text.split(' ')
  const sequence = Number(digits)
  if (!generation || !Number.isSafeInteger(sequence) || sequence < 1 || scopes.length === 0) return undefined
  return { generation, sequence, scopes }
}
