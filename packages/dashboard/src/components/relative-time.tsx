import { formatAgo, formatMoment } from '../format/time.ts'
import { useNow } from '../hooks/use-now.ts'

/** "6 min ago", updated; the exact time in the reader's zone on hover. */
export function RelativeTime({ atMs }: { readonly atMs: number }) {
  const nowMs = useNow()
  return (
    <time dateTime={new Date(atMs).toISOString()} title={formatMoment(atMs)}>
      {formatAgo(nowMs - atMs)}
    </time>
  )
}
