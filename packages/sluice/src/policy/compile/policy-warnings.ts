import type { CompiledPolicy } from '../compiled-policy.ts'

/**
 * What is not wrong with a policy but probably not meant either, in full sentences. With the time, also which overrides
 * have ended.
 */
export function policyWarnings({ rules }: Pick<CompiledPolicy, 'rules'>, nowMs?: number): readonly string[] {
  const warnings = rules.flatMap((rule) => rule.warnings(nowMs))
  if (rules.length === 0 || rules.some(({ keyed }) => keyed)) return warnings
  return [
    'No rule of the policy has a key, so it limits no requests: give a rule a key such as ip, or use take(key).',
    ...warnings,
  ]
}
