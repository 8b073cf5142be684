import { EmptyState } from '../../components/states.tsx'
import { formatNumber } from '../../format/number.ts'

/** How many subjects have used how much of their tightest limit. */
export function Fullness({ bins, looked }: { readonly bins: readonly number[]; readonly looked: number }) {
  if (looked === 0) return <EmptyState title="Nobody" text="No subject was seen in the last two minutes." />
  const most = Math.max(1, ...bins)
  return (
    <>
      <ul class="fullness" aria-label="Subjects by how much of their tightest limit is used">
        {bins.map((count, i) => (
          <li key={i}>
            <span class="fullness-count small">{count === 0 ? '' : formatNumber(count)}</span>
            <span
              class={`fullness-bar ${i === 9 ? 'fullness-full' : ''}`}
              style={{ height: `${(100 * count) / most}px` }}
            />
            <span class="soft small">{i === 9 ? '90+' : i * 10}</span>
            <span class="visually-hidden">% used</span>
          </li>
        ))}
      </ul>
      <p class="soft small fullness-axis">% of the tightest limit used</p>
    </>
  )
}
