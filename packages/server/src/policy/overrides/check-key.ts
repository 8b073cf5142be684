import { type Key, SluiceError } from 'sluice'
import type { CompiledPolicy } from 'sluice/policy'

/**
 * Refuses a key that no request can have, as its number of parts is not that of the rule's key: what a person does with
 * it would have no effect, or another than was meant.
 */
export function checkKey(policy: CompiledPolicy, key: Key, rule: string | undefined): void {
  const why = whyNoRequestHas(policy, key, rule)
  if (why === undefined) return
  const name = rule ?? policy.rules[0]?.name
  throw new SluiceError(
    'SLUICE_INVALID_KEY',
    `No request that the rule ${JSON.stringify(name)} meets has this key: ${why}.`,
  )
}

/** Why no request can have this key, in words; undefined when one can, or when callers give the keys of the rule. */
export function whyNoRequestHas(policy: CompiledPolicy, key: Key, name: string | undefined): string | undefined {
  const { rules } = policy
  const rule = name === undefined ? (rules.length === 1 ? rules[0] : undefined) : policy.rule(name)
  return rule?.whyNoRequestHas(typeof key === 'string' ? [key] : key)
}
