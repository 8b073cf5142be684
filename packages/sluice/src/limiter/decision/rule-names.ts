import { SluiceError, show } from '../../core/errors.ts'
import type { CompiledPolicy, CompiledRule } from '../../policy/compiled-policy.ts'

/**
 * Finds the rules that code names. A name that no version of the policy had is a mistake in the code and throws. A rule
 * that a newer version has dropped does not: operators change the policy while the service runs, and that must never
 * become an exception there.
 */
export class RuleNames {
  #policy: CompiledPolicy | undefined
  /** Names that an earlier version had. */
  readonly #earlier = new Set<string>()
  /** The rule that was meant by no name when that was last clear. */
  #meant: string | undefined
  /** That rule in the policy in force. */
  #meantRule: CompiledRule | undefined

  /** Names that were asked for and that the policy in force no longer has. */
  readonly dropped: Set<string> = new Set()

  /** The rule that is named, or meant; undefined when a newer version of the policy has dropped it. */
  find(policy: CompiledPolicy, name: string | undefined): CompiledRule | undefined {
    if (policy !== this.#policy) this.#follow(policy)
    if (name === undefined) return this.#meantRule ?? this.#withoutMeant(policy)
    const rule = policy.rule(name)
    if (rule !== undefined) return rule
    if (this.#earlier.has(name)) return this.#drop(name)
    const known = policy.rules.map((other) => other.name).join(', ')
    throw new SluiceError('SLUICE_UNKNOWN_RULE', `The policy has no rule ${show(name)}; it has ${known}.`)
  }

  #withoutMeant(policy: CompiledPolicy): undefined {
    if (this.#meant !== undefined) return this.#drop(this.#meant)
    const { rules } = policy
    const example = show(rules[0]?.name ?? 'per-user')
    throw new SluiceError(
      'SLUICE_UNKNOWN_RULE',
      `The policy has ${rules.length} rules; name one, such as { rule: ${example} }.`,
    )
  }

  #drop(name: string): undefined {
    this.dropped.add(name)
    return undefined
  }

  #follow(policy: CompiledPolicy): void {
    for (const { name } of this.#policy?.rules ?? []) this.#earlier.add(name)
    this.#policy = policy
    this.dropped.clear()
    const { rules } = policy
    // The only rule there is, or the only one that is meant for keys built by the caller.
    const candidates = rules.length === 1 ? rules : rules.filter((rule) => !rule.keyed)
    if (candidates.length === 1) this.#meant = candidates[0]!.name
    this.#meantRule = this.#meant === undefined ? undefined : policy.rule(this.#meant)
  }
}
