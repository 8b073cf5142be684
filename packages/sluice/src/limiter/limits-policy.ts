import type { Limit } from '../core/algorithms/limit.ts'
import type { Clock } from '../core/clock.ts'
import { invalidOption } from '../core/errors.ts'
import { plainDocument, plainPolicy } from '../policy/compile/plain-policy.ts'
import type { LimitsSpec } from '../policy/document/document.ts'
import { PolicyError } from '../policy/document/policy-error.ts'
import type { LivePolicy } from '../policy/live/live-policy.ts'
import { fixedPolicy } from '../policy/live/live-policy.ts'
import type { OpenPolicyOptions } from '../policy/live/open-policy.ts'

/** The policy of one rule that `limits` in code stand for. Plain ones are not compiled as documents are. */
export async function limitsPolicy(
  limits: LimitsSpec,
  service: string,
  name: string,
  own: OpenPolicyOptions & { readonly clock: Clock },
): Promise<LivePolicy> {
  const plain = own.fallbackPolicy === undefined ? plainPolicy(service, name, limits) : undefined
  const document = plainDocument(service, name, limits)
  if (plain !== undefined) return fixedPolicy(plain, document, own.clock)
  const { openPolicy } = await import('../policy/live/open-policy.ts')
  try {
    return await openPolicy(document, own)
  } catch (error) {
    throw error instanceof PolicyError ? asWritten(error) : error
  }
}

/** The caller wrote `limits` and a `name`, and no rule. */
function asWritten({ issues, cause }: PolicyError): PolicyError {
  const written = issues.map((issue) => ({ ...issue, path: issue.path.replace(/^rules\[0\]\./, '') }))
  return new PolicyError(written, { cause })
}

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
