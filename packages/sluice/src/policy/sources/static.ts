import type { PolicySource } from '../live/source.ts'

/**
 * A policy that never changes: a document, or YAML or JSON text.
 *
 * @example
 * const limiter = await createLimiter({
 *   policy: staticPolicy({ service: 'orders', rules: [{ name: 'ip', key: 'ip', limits: { rpm: 100 } }] }),
 * })
 */
export function staticPolicy(document: unknown): PolicySource {
  return {
    description: 'static',
    start: async () => ({ document, revision: undefined }),
    close: async () => {},
  }
}
