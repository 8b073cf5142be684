import './overview.css'
import type { Overview as Answer, Rules } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { Notice } from '../../components/notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { Segmented } from '../../components/segmented.tsx'
import { EmptyState, ErrorState, Loading } from '../../components/states.tsx'
import { formatNumber } from '../../format/number.ts'
import { formatClock } from '../../format/time.ts'
import { linkTo, useQuery } from '../../hooks/router.ts'
import { useValue } from '../../hooks/value.ts'
import type { Happening } from '../../live/entries.ts'
import { live } from '../../live/live.ts'
import { sortedRules } from '../rules/rule-figures.ts'
import { RuleTable } from '../rules/rule-table.tsx'
import { Chart } from './chart.tsx'
import { Refused } from './refused.tsx'
import { PolicyPanel, StorePanel } from './side-panels.tsx'
import { Tiles } from './tiles.tsx'
import { failureWords, happeningWords, storeName } from './words.ts'

const ranges = [
  { value: '15', text: '15 min' },
  { value: '5', text: '5 min' },
  { value: '1', text: '1 min' },
] as const

/** Answers: is traffic refused now, how much, since when, whose, by which rule, and is counting exact. */
export function Overview() {
  const timeline = useValue(live.timeline)
  const { data, error, reload } = useApi<Answer>('/v1/overview', 2000)
  const [range, setRange] = useQuery('range', '15')
  const minutes = Number(ranges.find(({ value }) => value === range)?.value ?? 15)
  if (data === undefined) return error ? <ErrorState error={error} retry={reload} /> : <Loading what="overview" />
  return (
    <>
      <h1 class="visually-hidden">Overview</h1>
      {data.outage && <DegradedBanner outage={data.outage} store={data.store.name} isBack={data.store.ok} />}
      {!data.complete && (
        <Notice kind="warn">
          What other processes report cannot be read now, so the figures are those of this process alone.
        </Notice>
      )}
      <Tiles timeline={timeline} deadlineMs={data.deadlineMs} />
      <div class="overview">
        <div class="column">
          <Panel
            title="Decisions per second"
            note={<span class="chart-readout" />}
            class="chart-panel"
            actions={
              <Segmented label="How far back" choices={ranges} value={String(minutes) as '15'} onChange={setRange} />
            }
          >
            <Chart timeline={timeline} minutes={minutes} />
            <Legend historyUrl={data.historyUrl} />
          </Panel>
          <Refused refused={data.refused} complete={data.complete} />
          <BusiestRules />
        </div>
        <div class="column">
          <StorePanel data={data} />
          <PolicyPanel data={data} />
          <Events happenings={timeline.happenings} store={data.store.name} />
        </div>
      </div>
    </>
  )
}

function Legend({ historyUrl }: { readonly historyUrl: string | null }) {
  return (
    <p class="legend soft small">
      <span>
        <i class="swatch swatch-allow" /> allowed
      </span>
      <span>
        <i class="swatch swatch-deny" /> denied
      </span>
      <span>
        <i class="swatch swatch-degraded" /> degraded: decided without the store
      </span>
      {historyUrl !== null && (
        <a class="legend-link" href={historyUrl} target="_blank" rel="noopener noreferrer">
          Further back than 15 minutes
        </a>
      )}
    </p>
  )
}

const shown = 6

/** The rules that deny most, and then those that decide most. */
function BusiestRules() {
  const { data, error, reload } = useApi<Rules>('/v1/rules', 5000)
  if (data === undefined) return error ? <ErrorState error={error} retry={reload} /> : <Loading what="rules" />
  const all = <a href={linkTo(['rules'])}>All rules ({data.rules.length})</a>
  return (
    <Panel title="Rules" note="by denials, last 15 minutes" actions={<span class="small">{all}</span>}>
      <RuleTable rules={sortedRules(data.rules, 'denials').slice(0, shown)} />
    </Panel>
  )
}

/** Shown above everything while decisions are made without the store: why, and since when. */
function DegradedBanner(props: {
  readonly outage: NonNullable<Answer['outage']>
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

const shownEvents = 8

/** What happened in the last 15 minutes, the newest first. */
function Events(props: { readonly happenings: readonly Happening[]; readonly store: string }) {
  const newest = props.happenings.toReversed().slice(0, shownEvents)
  return (
    <Panel title="Events" note="15 minutes">
      {newest.length === 0 ? (
        <EmptyState title="Nothing happened" text="New policies and outages of the store will stand here." />
      ) : (
        <ul class="feed">
          {newest.map((each) => {
            const { title, note } = happeningWords(each, props.store)
            return (
              <li key={`${each.kind} ${each.at}`}>
                {title}
                <div class="soft small">
                  <RelativeTime atMs={each.at * 1000} />
                  {note && ` · ${note}`}
                </div>
              </li>
            )
          })}
        </ul>
      )}
    </Panel>
  )
}
