import type { CompiledPolicy } from 'sluice/policy'

type Limits = ReturnType<CompiledPolicy['match']>['rules'][number]['limits']['limits']

/**
 * Limits that stand for no amount: rules with exactly these are answered without asking the store. No limit of Envoy's
 * equals them, whatever it is called, as windows of those begin at multiples of their period.
 */
export const unmatchedLimit = { name: 'unmatched', amount: 0, per: '1s' } as const
export const unlimitedLimit = { name: 'unlimited', amount: 4_294_967_295, per: '1s' } as const

/** What the limits of a rule stand for; undefined when they are limits. */
export function meaningOf(limits: Limits): 'unmatched' | 'unlimited' | undefined {
  const [limit, ...others] = limits
  if (limit === undefined || others.length > 0) return undefined
  const { algorithm, periodMs, aligned } = limit
  if (algorithm !== 'fixed-window' || periodMs !== 1000 || aligned) return undefined
  return [unmatchedLimit, unlimitedLimit].find(({ name, amount }) => name === limit.name && amount === limit.amount)
    ?.name
}
