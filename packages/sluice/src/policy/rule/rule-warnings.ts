import { formatAddress, parseAddress } from '../../core/address.ts'
import { decodeKey, type KeyPart } from '../../core/key.ts'
import { isServed } from '../condition/matcher.ts'
import type { Term } from '../document/term.ts'
import type { Override, Overrides } from './overrides.ts'
import type { RuleKey } from './rule-key.ts'

/** As much of a rule as its warnings are about. */
export interface WarnedRule {
  readonly name: string
  readonly key: RuleKey | undefined
  readonly methods: ReadonlySet<string> | undefined
  readonly overrides: Overrides | undefined
  readonly term: Term
}

/**
 * What is probably not meant in a rule, in full sentences. Overrides that have ended are told of only where the time is
 * given: they are a mistake in a document that is being written, and not in one that is in force.
 */
export function ruleWarnings({ name, key, methods, overrides, term }: WarnedRule, nowMs: number | undefined): string[] {
  const warnings = [...(methods ?? [])]
    .filter((method) => !isServed(method))
    .map((method) => `The rule ${name} matches the method ${method}, which servers do not know: no request has it.`)
  if (nowMs !== undefined && term.untilMs <= nowMs)
    warnings.push(`The rule ${name} has ended: take it away, or give it a later until.`)
  const ended = nowMs === undefined ? [] : [...(overrides?.all() ?? [])].filter(([, { untilMs }]) => untilMs <= nowMs)
  if (ended.length > 0) {
    const [have, it] = ended.length === 1 ? ['has', 'it'] : ['have', 'them']
    warnings.push(`${named(name, ended)} ${have} ended: take ${it} away, or give ${it} a later until.`)
  }
  const lost = [...(overrides?.exact ?? [])]
    .map(([subject, override]) => [decodeKey(subject), override] as const)
    .filter(([parts]) => key && hasWrongAddress(key, parts))
    .map(([parts, override]) => [parts.join('/'), override] as const)
  if (lost.length > 0)
    warnings.push(
      `No request meets ${named(name, lost).replace('The', 'the')}: requests have addresses such as 192.0.2.1, or networks such as 2001:db8::/64.`,
    )
  return warnings
}

function named(rule: string, overrides: readonly (readonly [key: string, Override])[]): string {
  const shown = overrides.slice(0, 3).map(([key]) => JSON.stringify(key))
  const more = overrides.length - shown.length
  const list = more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
  return `The override${overrides.length === 1 ? '' : 's'} of the rule ${rule} for ${list}`
}

function hasWrongAddress({ alternatives, numbered }: RuleKey, parts: readonly KeyPart[]): boolean {
  const selectors = alternatives[numbered ? Number(parts[0]) : 0]?.selectors ?? []
  const values = numbered ? parts.slice(1) : parts
  return selectors.some(({ root, plain }, i) => root === 'ip' && plain && !isAsInRequests(String(values[i])))
}

/** Whether an address, or a network of IPv6, is spelled as adapters spell those of requests. */
function isAsInRequests(text: string): boolean {
  const [, bare = text, bits] = /^(.+:.*)\/(\d{1,3})$/.exec(text) ?? []
  const address = parseAddress(bare)
  return address !== undefined && formatAddress(address, Number(bits ?? 128)) === text
}
