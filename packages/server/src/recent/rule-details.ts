import type { Limiter } from 'sluice'
import { parseReadableKey } from 'sluice/internal'
import type { CompiledPolicy, LivePolicy } from 'sluice/policy'
import type { HotKey } from 'sluice/reports'
import type { RuleDetails } from '../shapes/page.ts'

/** Most subjects that are looked at for one rule. */
export const maxSubjects = 200

/** A rule as the policy has it, for people. */
export type RuleDescription = Pick<
  RuleDetails,
  'name' | 'mode' | 'onStoreFailure' | 'limits' | 'match' | 'key' | 'tier'
>
type Described = ReadonlyMap<string, RuleDescription>

/** Describes the rules in force, once for each policy; none while the built-in example stands in for a document. */
export function ruleDescriptions(policy: LivePolicy): () => Described {
  let known: { readonly of: CompiledPolicy; readonly rules: Described } | undefined
  return () => {
    const { current, document } = policy
    if (known?.of !== current) known = { of: current, rules: document ? describe(current, document.parsed) : new Map() }
    return known.rules
  }
}

function describe(policy: CompiledPolicy, document: unknown): Map<string, RuleDescription> {
  const listed = (document as { readonly rules?: readonly Record<string, unknown>[] }).rules
  const written = new Map((Array.isArray(listed) ? listed : []).map((rule) => [String(rule.name), rule]))
  return new Map(
    policy.rules.map((rule) => {
      const { match = null, key = null, tier = null } = written.get(rule.name) ?? {}
      const { limits } = rule.limitsFor('', undefined, Date.now())
      const description: RuleDescription = {
        ...{ name: rule.name, mode: rule.mode, onStoreFailure: String(rule.onStoreFailure), match, key, tier },
        // Classes share what the limit before them counts.
        limits: limits
          .filter(({ share }) => !share)
          .map(({ name, algorithm, amount, periodMs }) => ({ name, algorithm, amount, periodMs })),
      }
      return [rule.name, description]
    }),
  )
}

/** Asks the store how full the busiest subjects of a rule are. Those with little traffic are not among them. */
export async function fullnessOf(limiter: Limiter, keys: readonly HotKey[]): Promise<RuleDetails['fullness']> {
  const subjects = [...new Set(keys.map(({ key }) => key))]
  const shares = await Promise.all(subjects.slice(0, maxSubjects).map((key) => shareUsed(limiter, key)))
  const known = shares.filter((share) => share !== undefined)
  const bins = Array.from({ length: 10 }, (_, i) => known.filter((share) => binOf(share) === i).length)
  return { bins, looked: known.length, seen: subjects.length, isSample: subjects.length >= maxSubjects }
}

function binOf(share: number): number {
  return Math.max(0, Math.min(9, Math.floor(share * 10)))
}

async function shareUsed(limiter: Limiter, key: string): Promise<number | undefined> {
  try {
    const parsed = parseReadableKey(key)
    const { limits, degraded } = await limiter.inspect(parsed.key, { rule: parsed.rule })
    // Of an amount of 0, as of a block, nothing is left.
    const used = limits.map(({ amount, remaining }) => (amount === 0 ? 1 : 1 - remaining / amount))
    return degraded || used.length === 0 ? undefined : Math.max(...used)
  } catch {
    return undefined
  }
}
