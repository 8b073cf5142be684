import type { LimitsSpec } from '../document/document.ts'

/** The limits of each tier, with where they are written; undefined for the built-in ones. */
export type Tiers = ReadonlyMap<string, { readonly spec: LimitsSpec; readonly path: string | undefined }>

/** The tiers every policy has until it says otherwise. */
export const builtInTiers: Tiers = new Map([
  ['free', { spec: { rpm: 100 }, path: undefined }],
  ['standard', { spec: { rpm: 1000 }, path: undefined }],
  ['enterprise', { spec: { rpm: 10_000 }, path: undefined }],
])

/** Adds tiers to those known so far; one of the same name is replaced. */
export function withTiers(known: Tiers, added: Readonly<Record<string, LimitsSpec>> | undefined, path: string): Tiers {
  const tiers = new Map(known)
  for (const [name, spec] of Object.entries(added ?? {})) tiers.set(name, { spec, path: `${path}.${name}` })
  return tiers
}
