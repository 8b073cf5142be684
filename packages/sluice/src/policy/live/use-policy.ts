import { invalidOption } from '../../core/errors.ts'
import type { PolicyDocument } from '../document/document.ts'
import type { Lookups } from '../lookup/lookup-options.ts'
import type { LivePolicy } from './live-policy.ts'
import { UsedPolicy } from './live-policy.ts'
import { type OpenPolicyOptions, openPolicy } from './open-policy.ts'
import type { PolicySource } from './source.ts'

/** What parts take as their policy. */
export type PolicyInput = PolicyDocument | PolicySource | LivePolicy

/**
 * Opens what a part was given as its policy, unless it was given one that is open. A part that decides by lookups has
 * `noLookups` where it was given none: rules that name one are then refused.
 */
export async function usePolicy(
  maker: string,
  given: PolicyInput,
  own: OpenPolicyOptions,
  noLookups?: Lookups,
): Promise<UsedPolicy> {
  if (given instanceof Promise) throw invalidOption(`${maker}.policy`, given, 'wait for it: await openPolicy(source)')
  if (!isOpen(given))
    return new UsedPolicy(await openPolicy(given, { ...own, lookups: own.lookups ?? noLookups }), true)
  for (const name of ['functions', 'lookups', 'env', 'fallbackPolicy'] as const)
    if (own[name] !== undefined)
      throw invalidOption(`${maker}.${name}`, own[name], `the policy is shared; write openPolicy(source, { ${name} })`)
  return new UsedPolicy(given, false)
}

function isOpen(given: PolicyInput): given is LivePolicy {
  return typeof (given as Partial<LivePolicy>).on === 'function'
}
