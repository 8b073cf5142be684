import { noneCalled } from '../../core/did-you-mean.ts'
import type { LimitsSpec, TierLimitsSpec } from '../document/document.ts'
import type { Report } from '../document/policy-error.ts'

/** The limits of each tier, with where they are written; undefined for the built-in ones. */
export type Tiers = ReadonlyMap<string, TierEntry>

interface TierEntry {
  /** From the tier that is extended to the tier itself: a limit takes the place of an earlier one of its name. */
  readonly specs: readonly LimitsSpec[]
  readonly path: string | undefined
}

/** The tiers every policy has until it says otherwise. */
export const builtInTiers: Tiers = new Map([
  ['free', { specs: [{ rpm: 100 }], path: undefined }],
  ['standard', { specs: [{ rpm: 1000 }], path: undefined }],
  ['enterprise', { specs: [{ rpm: 10_000 }], path: undefined }],
])

/** Adds tiers to those known so far; one of the same name is replaced. */
export function withTiers(
  known: Tiers,
  added: Readonly<Record<string, TierLimitsSpec>> | undefined,
  path: string,
  report: Report,
): Tiers {
  const tiers = new Map(known)
  const adding = new Set<string>()
  const add = (name: string, spec: TierLimitsSpec): void => {
    adding.add(name)
    tiers.set(name, { specs: specsOf(spec, `${path}.${name}`), path: `${path}.${name}` })
    adding.delete(name)
  }
  const specsOf = (spec: TierLimitsSpec, at: string): readonly LimitsSpec[] => {
    if (typeof spec === 'string' || !('extends' in spec)) return [spec]
    const { extends: base, limits, ...own } = spec
    const wrong = (remedy: string): [] => {
      report(`${at}.extends`, base, remedy)
      return []
    }
    if (adding.has(base)) return wrong('a tier cannot extend itself')
    const later = added && Object.hasOwn(added, base) ? added[base] : undefined
    // Tiers may stand in any order.
    if (later !== undefined && tiers.get(base)?.path !== `${path}.${base}`) add(base, later)
    const found = tiers.get(base)
    if (!found) return wrong(noneCalled('tier', base, tiers.keys()))
    if (found.specs.some((each) => typeof each === 'string')) return wrong('this tier has no limits to extend')
    const ownSpecs = Object.keys(own).length > 0 ? [own] : []
    return [...found.specs, ...ownSpecs, ...(limits === undefined ? [] : [limits])]
  }
  for (const [name, spec] of Object.entries(added ?? {})) {
    if (tiers.get(name)?.path !== `${path}.${name}`) add(name, spec)
  }
  return tiers
}
