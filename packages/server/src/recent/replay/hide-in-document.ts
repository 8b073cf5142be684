import { type Hide, isSecretName, isSecretSelector } from './secret-names.ts'

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * A policy document whose constants are hidden in the same way as the fields they are compared with, so that hidden
 * requests still meet their overrides, tiers and conditions. `notes` says where that is not possible.
 */
export function hideInDocument(document: unknown, hide: Hide): { document: unknown; notes: string[] } {
  const notes: string[] = []
  if (!isFields(document) || !Array.isArray(document.rules)) return { document, notes }
  const rules = document.rules.map((rule) => (isFields(rule) ? hideInRule(rule, hide, notes) : rule))
  return { document: { ...document, rules }, notes }
}

/** The selectors of a key's parts; of a list of alternatives, those of the first. */
export function keySelectorsOf(key: unknown): readonly string[] {
  if (typeof key === 'string') return [key]
  if (Array.isArray(key)) return key.filter((each) => typeof each === 'string')
  return isFields(key) && Array.isArray(key.first) ? keySelectorsOf(key.first[0]) : []
}

function hideInRule(rule: Fields, hide: Hide, notes: string[]): Fields {
  const selectors = keySelectorsOf(rule.key)
  const secret = selectors.map(isSecretSelector)
  const next: Record<string, unknown> = { ...rule }
  if (isFields(rule.match)) next.match = hideInMatch(rule.match, hide, () => notes.push(hiddenCondition(rule)))
  if (secret.includes(true) && Array.isArray(rule.overrides)) {
    if (isFields(rule.key) || selectors.some((each, i) => secret[i] && /\|/.test(each)))
      notes.push(`${String(rule.name)}: its overrides are left out, as the keys they name are hidden`)
    next.overrides = rule.overrides.map((each) =>
      isFields(each) ? { ...each, key: hideParts(each.key, secret, hide) } : each,
    )
  }
  const by = isFields(rule.tier) ? (rule.tier.by ?? selectors[0]) : undefined
  if (isFields(rule.tier) && isFields(rule.tier.map) && typeof by === 'string' && isSecretSelector(by)) {
    const map = Object.entries(rule.tier.map).map(([id, tier]) => [hide(id), tier])
    next.tier = { ...rule.tier, map: Object.fromEntries(map) }
  }
  return next
}

function hiddenCondition(rule: Fields): string {
  return `${String(rule.name)}: a condition compares what is hidden in a way that cannot be replayed`
}

function hideInMatch(match: Fields, hide: Hide, note: () => void): Fields {
  const next: Record<string, unknown> = { ...match }
  for (const root of ['headers', 'query', 'body', 'context', 'cookies'] as const) {
    const conditions = match[root]
    if (!isFields(conditions)) continue
    next[root] = Object.fromEntries(
      Object.entries(conditions).map(([name, wanted]) => [
        name,
        root === 'cookies' || isSecretName(name) ? hideValues(wanted, hide, note) : wanted,
      ]),
    )
  }
  return next
}

function hideValues(wanted: unknown, hide: Hide, note: () => void): unknown {
  if (Array.isArray(wanted)) return wanted.map((each) => hide(String(each)))
  if (!isFields(wanted)) return hide(String(wanted))
  if (['prefix', 'in', 'ignoreCase', 'above', 'atLeast', 'below', 'atMost'].some((name) => name in wanted)) note()
  const hidden = { ...wanted }
  for (const name of ['is', 'not']) if (name in wanted) hidden[name] = hideValues(wanted[name], hide, note)
  return hidden
}

function hideParts(key: unknown, secret: readonly boolean[], hide: Hide): unknown {
  if (Array.isArray(key)) return key.map((part, i) => (secret[i] ? hide(String(part)) : part))
  return secret[0] ? hide(String(key)) : key
}
