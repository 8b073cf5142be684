/** How the keys of a rule look. */
export interface KeyShape {
  readonly mode: 'enforce' | 'shadow'
  /** Selectors by alternative; undefined for a rule whose keys are given by the caller. */
  readonly alternatives: readonly (readonly string[])[] | undefined
  /** The selector of the tier; undefined where there is none, or where the key says it. */
  readonly tierBy: string | undefined
  /** The lookup that knows the tier. */
  readonly lookup: string | undefined
}

type Rule = { readonly name?: unknown; readonly key?: unknown; readonly mode?: unknown; readonly tier?: unknown }

/** The shapes of the keys in a document, by the names of the rules. */
export function keyShapes(document: unknown): ReadonlyMap<string, KeyShape> {
  const rules = (document as { readonly rules?: unknown } | null | undefined)?.rules
  return new Map(
    (Array.isArray(rules) ? (rules as Rule[]) : []).map(({ name, key, mode, tier }) => [
      String(name),
      { mode: mode === 'shadow' ? 'shadow' : 'enforce', alternatives: alternativesOf(key), ...tierOf(tier) },
    ]),
  )
}

/** Where the keys of a rule come from, in words. */
export function keyOrigin(shape: KeyShape | undefined): string {
  const { alternatives } = shape ?? {}
  if (alternatives === undefined) return 'its keys are given by those who ask'
  return `its keys are made of ${alternatives.map((selectors) => selectors.join(' + ')).join(' / ')}`
}

function tierOf(tier: unknown): Pick<KeyShape, 'tierBy' | 'lookup'> {
  if (typeof tier === 'string') return { tierBy: tier, lookup: undefined }
  const { by, lookup } = (tier ?? {}) as { readonly by?: unknown; readonly lookup?: unknown }
  const textOf = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
  return { tierBy: textOf(by), lookup: textOf(lookup) }
}

function alternativesOf(key: unknown): KeyShape['alternatives'] {
  if (typeof key === 'string') return key.startsWith('fn:') ? undefined : [[key]]
  if (Array.isArray(key)) return [key.map(String)]
  const { first } = (key ?? {}) as { readonly first?: readonly unknown[] }
  return Array.isArray(first) ? first.map((each) => [each].flat().map(String)) : undefined
}
