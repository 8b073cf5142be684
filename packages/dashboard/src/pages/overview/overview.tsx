import type { Overview as Answer } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { Panel } from '../../components/panel.tsx'
import { Segmented } from '../../components/segmented.tsx'
import { ErrorState, Loading } from '../../components/states.tsx'
import { useQuery } from '../../hooks/router.ts'
import { useValue } from '../../hooks/value.ts'
import { live } from '../../live/live.ts'
import { DegradedBanner } from './banner.tsx'
import { BusiestRules } from './busiest-rules.tsx'
import { Chart } from './chart.tsx'
import { Events } from './events.tsx'
import './overview.css'
import { Refused } from './refused.tsx'
import { PolicyPanel, StorePanel } from './side-panels.tsx'
import { Tiles } from './tiles.tsx'

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
          <Refused refused={data.refused} />
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
