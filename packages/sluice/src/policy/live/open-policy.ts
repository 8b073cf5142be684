import { checkOptionNames, optionNames } from '../../core/check-options.ts'
import type { Clock } from '../../core/clock.ts'
import { invalidOption } from '../../core/errors.ts'
import { systemClock } from '../../runtime/system-clock.ts'
import type { PolicyDocument } from '../document/document.ts'
import type { LookupSource, Lookups } from '../lookup/lookup-options.ts'
import type { KeyFunctions } from '../rule/key.ts'
import type { Environment } from '../rule/tier-environment.ts'
import { followPolicy } from './followed-policy.ts'
import { type LivePolicy, UsedPolicy } from './live-policy.ts'
import { type PolicySource, staticPolicy } from './source.ts'

export interface OpenPolicyOptions {
  /** Functions that the policy can name as keys: `key: fn:tenantOf` calls `functions.tenantOf(request)`. */
  readonly functions?: KeyFunctions | undefined
  /** What rules can name as `tier: { lookup: plans }`: says the tier, or the limits, of a key. */
  readonly lookups?: Lookups | undefined
  /** Where `RATE_LIMIT_TIER...` is read from; the process' environment when left out. */
  readonly env?: Environment | undefined
  /** A policy to begin with when the source has none at start. Without it, that is an error. */
  readonly fallbackPolicy?: PolicyDocument | undefined
  /** Where time comes from, for tests. The system's time when left out. */
  readonly clock?: Clock | undefined
}

const names = optionNames<OpenPolicyOptions>({
  ...{ functions: true, lookups: true, env: true, fallbackPolicy: true, clock: true },
})

/**
 * Opens a policy that several parts share: it is read, parsed and compiled once, and all of them change to a new
 * version together. Its owner closes it, after the parts.
 *
 * @example
 * const policy = await openPolicy(filePolicy('sluice.yaml'))
 * const limiter = await createLimiter({ policy })
 * const egress = await createEgress({ policy })
 */
export async function openPolicy(
  source: PolicySource | PolicyDocument,
  options: OpenPolicyOptions = {},
): Promise<LivePolicy> {
  checkOptionNames('openPolicy', options, names)
  if (typeof source !== 'object' || source === null)
    throw invalidOption('openPolicy source', source, "pass a source such as filePolicy('sluice.yaml'), or an object")
  const { functions, env, fallbackPolicy, clock = systemClock() } = options
  const lookups = options.lookups && (await openLookups(options.lookups, clock))
  for (const [name, key] of Object.entries(functions ?? {}))
    if (typeof key !== 'function')
      throw invalidOption(`openPolicy.functions.${name}`, key, 'pass a function from a request to its key')
  return followPolicy({
    source: isSource(source) ? source : staticPolicy(source),
    // Loaded with the first document, so that a program with `limits` alone contains neither zod nor yaml.
    compile: async (document) => {
      const { compilePolicyInSlices } = await import('../compile/compile-policy.ts')
      return compilePolicyInSlices(document, { functions, lookups, env })
    },
    fallback: fallbackPolicy,
    clock,
  })
}

/** None, for what has none: rules that name one are refused. */
const noLookups: LookupSource = { names: [], find: () => undefined, takePending: () => undefined }

async function openLookups(lookups: Lookups, clock: Clock): Promise<LookupSource> {
  if (Object.keys(lookups).length === 0) return noLookups
  const { LookupSet } = await import('../lookup/lookup-options.ts')
  return new LookupSet(lookups, clock)
}

function isSource(given: PolicySource | PolicyDocument): given is PolicySource {
  return typeof (given as Partial<PolicySource>).start === 'function'
}

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
