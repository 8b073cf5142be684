import type { Step } from '../../api/shapes.ts'
import { formatNumber } from '../../format/number.ts'

/** A bar for each step of ten seconds: how many were denied. */
export function RuleHistory({ history, isShadow }: { readonly history: readonly Step[]; readonly isShadow: boolean }) {
  const values = history.map((step) => (isShadow ? step[2] : step[1]))
  const most = Math.max(1, ...values)
  if (values.every((value) => value === 0)) return <div class="history" aria-hidden="true" />
  const width = 90
  return (
    <div class="history">
      <span class="soft small history-most">{formatNumber(most)}</span>
      <svg
        viewBox={`0 0 ${width} 40`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`At most ${most} in ten seconds`}
      >
        {values.map((value, i) => (
          <rect
            key={i}
            class={isShadow ? 'history-shadow' : 'history-denied'}
            x={width - values.length + i + 0.1}
            width={0.8}
            y={40 - (40 * value) / most}
            height={(40 * value) / most}
          />
        ))}
      </svg>
      <span class="soft small history-from">15 min ago</span>
      <span class="soft small history-to">now</span>
    </div>
  )
}
