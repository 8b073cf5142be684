import type { RuleSummary } from '../../api/shapes.ts'
import { limitWords } from './rule-figures.ts'

/** The limits of a rule; where tiers decide, those for subjects without a tier. */
export function LimitChips({ rule }: { readonly rule: RuleSummary }) {
  return (
    <>
      {rule.limits.map((limit) => (
        <span class="chip" key={limit.name} title={`${limit.name}, ${limit.algorithm}`}>
          {limitWords(limit)}
        </span>
      ))}
      {rule.byTier && <span class="soft small">and by tier</span>}
    </>
  )
}
