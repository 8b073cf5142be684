import type { CompiledPolicy } from './compiled-policy.ts'

/** What is not wrong with a policy but probably not meant either, in full sentences. */
export function policyWarnings({ rules }: Pick<CompiledPolicy, 'rules'>): readonly string[] {
  if (rules.length === 0 || rules.some(({ keyed }) => keyed)) return []
  return ['No rule of the policy has a key, so it limits no requests: give a rule a key such as ip, or use take(key).']
}
