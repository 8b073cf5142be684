import type { PolicySource } from './source.ts'

/** A source that never changes: a document, or YAML or JSON text. */
export function staticPolicy(document: unknown): PolicySource {
  return {
    description: 'static',
    start: async () => ({ document, revision: undefined }),
    close: async () => {},
  }
}
