import type { Overview } from '../../api/shapes.ts'
import { RelativeTime } from '../../components/relative-time.tsx'
import { formatNumber } from '../../format/number.ts'
import { formatClock } from '../../format/time.ts'
import { failureWords, storeName } from './words.ts'

/** Shown above everything while decisions are made without the store: why, and since when. */
export function DegradedBanner(props: {
  readonly outage: NonNullable<Overview['outage']>
  readonly store: string
  /** It answers, but not yet for long enough to end the outage. */
  readonly isBack: boolean
}) {
  const { since, failure, message, decisions } = props.outage
  return (
    <section class="degraded-banner" role="alert" aria-label="Degraded">
      <strong>
        {storeName(props.store)} {props.isBack ? 'answers again, after it ' : ''}
        {failureWords(failure)}
        {props.isBack ? '.' : ', so counting is not exact.'}
      </strong>{' '}
      Since {formatClock(since)} (<RelativeTime atMs={since} />
      ), {formatNumber(decisions)} decisions of this replica were made by what their rules say for a store failure.
      {message !== '' && <div class="small mono">{message}</div>}
    </section>
  )
}
