import type { Denial } from '../../api/shapes.ts'
import { EmptyState } from '../../components/states.tsx'
import { keyParts } from '../../format/key.ts'
import { formatClock, formatDuration } from '../../format/time.ts'
import { linkTo } from '../../hooks/router.ts'

/** Who was denied, when, by which limit, and how long it had to wait. */
export function Denials({ denials }: { readonly denials: readonly Denial[] }) {
  if (denials.length === 0) return <EmptyState title="None" text="Nothing was denied since this daemon started." />
  return (
    <ul class="denials">
      {denials.map((denial, i) => (
        <li key={`${denial.at} ${i}`}>
          <span class="soft small">{formatClock(denial.at)}</span>
          <a class="mono" href={linkTo(['keys'], { key: denial.key })}>
            {keyParts(denial.key) || denial.key || denial.rule}
          </a>
          <span class="soft small number">{reasonWords(denial)}</span>
        </li>
      ))}
    </ul>
  )
}

const words: Readonly<Record<string, string>> = {
  'missing-key': 'no key in the request',
  blocked: 'blocked',
  forbidden: 'denied by the policy',
}

/** Why it was denied, and when it would pass. A store that is away does not say when it will be back. */
export function reasonWords({
  reason,
  limit,
  retryAfterMs,
  cost,
}: Omit<Denial, 'at' | 'rule' | 'key' | 'replica'>): string {
  const why = reason === 'quota' ? (limit ?? 'limit used up') : (words[reason] ?? 'store away')
  const wait =
    retryAfterMs === null ? 'never passes' : retryAfterMs > 0 ? `passes in ${formatDuration(retryAfterMs)}` : ''
  return [why, cost > 1 ? `cost ${cost}` : '', wait].filter(Boolean).join(' · ')
}
