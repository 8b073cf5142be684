import { rlsMethod } from './descriptor.ts'

type Rule = { readonly match?: { readonly method?: unknown; readonly path?: unknown } }

/** The domains that the rules of a policy are for. */
export interface Domains {
  has(domain: string): boolean
}

const none: Domains = { has: () => false }
const all: Domains = { has: () => true }
const known = new WeakMap<object, Domains>()

/** The domains of a parsed document; they are found once for each. */
export function domainsOf(document: unknown): Domains {
  if (typeof document !== 'object' || document === null) return none
  const domains = known.get(document) ?? find((document as { readonly rules?: readonly Rule[] }).rules ?? [])
  known.set(document, domains)
  return domains
}

/** Whether a rule is for descriptors. */
export function isRls({ match }: Rule): boolean {
  return listed(match?.method).some((method) => String(method).toUpperCase() === rlsMethod)
}

/** A domain as it is compared with others: the paths of rules match without regard to case. */
export function comparedDomain(domain: string): string {
  return domain.toUpperCase().toLowerCase()
}

function find(rules: readonly Rule[]): Domains {
  const paths = rules.filter(isRls).map(({ match }) => match?.path)
  const first = paths.flatMap(listed).map((path) => String(path).split('/').filter(Boolean)[0])
  if (paths.includes(undefined) || first.some((segment) => segment === '*' || segment?.startsWith(':'))) return all
  const names = new Set(first.map((segment) => comparedDomain(decoded(segment ?? ''))))
  return { has: (domain) => names.has(comparedDomain(domain)) }
}

function listed(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === undefined ? [] : [value]
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
