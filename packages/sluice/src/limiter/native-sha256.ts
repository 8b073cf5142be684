import { useSha256 } from '../core/sha256.ts'

/**
 * Hashes long key parts with `node:crypto` where there is one. It is not imported, so that edge runtimes can load this
 * file.
 */
export function useNativeSha256(): void {
  const crypto = globalThis.process?.getBuiltinModule?.('node:crypto')
  if (crypto === undefined) return
  useSha256((text) => crypto.createHash('sha256').update(Buffer.from(text, 'utf16le').swap16()).digest('hex'))
}
