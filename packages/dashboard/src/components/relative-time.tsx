import { useEffect, useState } from 'preact/hooks'
import { formatAgo, formatMoment } from '../format/time.ts'

/** "6 min ago", updated; the exact time in the reader's zone on hover. */
export function RelativeTime({ atMs }: { readonly atMs: number }) {
  const [nowMs, setNowMs] = useState(Date.now())
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 1000)
    return () => clearInterval(timer)
  }, [])
  return (
    <time dateTime={new Date(atMs).toISOString()} title={formatMoment(atMs)}>
      {formatAgo(nowMs - atMs)}
    </time>
  )
}
