import { formatAddress, parseAddress } from '../../core/address.ts'
import { decodeKey } from '../../core/key.ts'
import { isServed } from '../condition/methods.ts'
import type { RuleKey } from './key.ts'
import type { Overrides } from './overrides.ts'

/** As much of a rule as its warnings are about. */
export interface WarnedRule {
  readonly name: string
  readonly key: RuleKey | undefined
  readonly methods: ReadonlySet<string> | undefined
  readonly overrides: Overrides | undefined
}

/**
 * What is probably not meant in a rule, in full sentences. Overrides that have ended are told of only where the time is
 * given: they are a mistake in a document that is being written, and not in one that is in force.
 */
export function ruleWarnings({ name, key, methods, overrides }: WarnedRule, nowMs: number | undefined): string[] {
  const warnings = [...(methods ?? [])]
    .filter((method) => !isServed(method))
    .map((method) => `The rule ${name} matches the method ${method}, which servers do not know: no request has it.`)
  const subjects = [...(overrides ?? [])]
  const ended = nowMs === undefined ? [] : subjects.filter(([, { untilMs }]) => untilMs <= nowMs)
  if (ended.length > 0) {
    const [have, it] = ended.length === 1 ? ['has', 'it'] : ['have', 'them']
    warnings.push(`${named(name, ended)} ${have} ended: take ${it} away, or give ${it} a later until.`)
  }
  const lost = key ? subjects.filter(([subject]) => hasWrongAddress(key, subject)) : []
  if (lost.length > 0)
    warnings.push(
      `No request meets ${named(name, lost).replace('The', 'the')}: requests have addresses such as 192.0.2.1, or networks such as 2001:db8::/64.`,
    )
  return warnings
}

function named(rule: string, overrides: readonly (readonly [subject: string, unknown])[]): string {
  const shown = overrides.slice(0, 3).map(([subject]) => JSON.stringify(decodeKey(subject).join('/')))
  const more = overrides.length - shown.length
  const list = more > 0 ? `${shown.join(', ')} and ${more} more` : shown.join(', ')
  return `The override${overrides.length === 1 ? '' : 's'} of the rule ${rule} for ${list}`
}

function hasWrongAddress({ alternatives, numbered }: RuleKey, subject: string): boolean {
  const parts = decodeKey(subject)
  const selectors = alternatives[numbered ? Number(parts.shift()) : 0]?.selectors ?? []
  return selectors.some(({ root, plain }, i) => root === 'ip' && plain && !isAsInRequests(String(parts[i])))
}

/** Whether an address, or a network of IPv6, is spelled as adapters spell those of requests. */
function isAsInRequests(text: string): boolean {
  const [, bare = text, bits] = /^(.+:.*)\/(\d{1,3})$/.exec(text) ?? []
  const address = parseAddress(bare)
  return address !== undefined && formatAddress(address, Number(bits ?? 128)) === text
}
