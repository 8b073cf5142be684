import type { Limit } from '../api/shapes.ts'
import { formatDuration, formatPeriod } from '../format/time.ts'

/** How much of a limit is used, when it is fully available again, and when the next unit passes. */
export function Gauge({ limit, ageMs = 0 }: { readonly limit: Limit; readonly ageMs?: number }) {
  const { amount, remaining, windowMs } = limit
  if (limit.block)
    return <b class="gauge deny">blocked, ends in {formatDuration(Math.max(0, limit.resetMs - ageMs))}</b>
  // After that time all of it is available again, unless it was spent meanwhile.
  const isOver = windowMs > 0 && ageMs >= limit.resetMs
  const used = isOver ? 0 : Math.max(0, amount - remaining)
  const share = amount === 0 ? 1 : Math.min(1, used / amount)
  const isFull = limit.retryAfterMs === null || limit.retryAfterMs - (windowMs === 0 ? 0 : ageMs) > 0
  const whole = amount.toLocaleString('en')
  return (
    <div class="gauge">
      <div class="gauge-head">
        <span class="gauge-name">{limit.name}</span>
        <span class="soft small">
          {whole} {windowMs === 0 ? 'in flight' : `per ${formatPeriod(windowMs)}`}
        </span>
        <span class="gauge-used">
          {used.toLocaleString('en')}
          <small> of {whole}</small>
        </span>
      </div>
      <div
        class={`meter gauge-bar ${isFull ? 'meter-full' : ''}`}
        role="img"
        aria-label={`${Math.round(share * 100)}% of ${limit.name} used`}
      >
        <span style={{ width: `${share * 100}%` }} />
      </div>
      <div class="gauge-foot soft small">
        <span>
          {isFull ? <b class="deny">full: {nextUnit(limit, ageMs)}</b> : `${(amount - used).toLocaleString('en')} left`}
        </span>
        <span>
          {windowMs > 0 && used > 0
            ? `all ${whole} again in ${formatDuration(Math.max(0, limit.resetMs - ageMs))}`
            : ''}
        </span>
      </div>
    </div>
  )
}

function nextUnit({ retryAfterMs, windowMs }: Limit, ageMs: number): string {
  if (retryAfterMs === null) return 'nothing ever passes'
  return windowMs === 0 ? 'next when one ends' : `next in ${formatDuration(retryAfterMs - ageMs)}`
}
