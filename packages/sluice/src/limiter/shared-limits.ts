import type { Limit } from '../core/algorithms/limit.ts'
import { invalidOption } from '../core/errors.ts'

interface Shared {
  readonly limits: string
  limiters: number
}

/** By store: what is counted under each name, by limiters that were made from `limits`. */
const shared = new WeakMap<object, Map<string, Shared>>()

/**
 * Limiters with the same `limits` share a counter, as replicas do. Others on the same store need a name of their own,
 * or each would spend what the other allows. The returned function ends the use of the name.
 */
export function shareLimits(store: object, service: string, name: string, limits: readonly Limit[]): () => void {
  const names = shared.get(store) ?? new Map<string, Shared>()
  shared.set(store, names)
  const id = JSON.stringify([service, name])
  // What they mean, and not how they are written or called: 60 rpm are 60 per '1m'.
  const text = limits
    .map((limit) => JSON.stringify({ ...limit, name: undefined }))
    .sort()
    .join()
  const entry = names.get(id) ?? { limits: text, limiters: 0 }
  if (entry.limits !== text)
    throw invalidOption('createLimiter.name', name, 'another limiter has other limits under this name; give it its own')
  names.set(id, entry)
  entry.limiters += 1
  return () => {
    entry.limiters -= 1
    if (entry.limiters === 0) names.delete(id)
  }
}
