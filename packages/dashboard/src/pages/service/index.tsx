import type { Stats } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { Notice } from '../../components/notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { EmptyState, ErrorState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Tile } from '../../components/tile.tsx'
import { visible } from '../../format/key.ts'
import { formatNumber, formatShare } from '../../format/number.ts'
import { formatAgo, formatDuration } from '../../format/time.ts'
import { linkTo, type PageProps } from '../../hooks/router.ts'
import { useValue } from '../../hooks/value.ts'
import { live } from '../../live/live.ts'
import { TopKeys } from '../keys/busy-keys.tsx'
import { DecisionTiles } from '../overview/tiles.tsx'
import { Parts } from '../parts/index.tsx'
import '../../styles/operate.css'
import '../keys/keys.css'

/** Another service than that of this daemon, as its processes report. */
export default function Service({ route }: PageProps) {
  const [, service, view] = route.path
  const own = useValue(live.hello)?.service
  if (service === undefined || (view !== undefined && view !== 'parts'))
    return <EmptyState title="There is no such page" />
  return (
    <>
      <Notice kind="info">
        What processes of <strong class="mono">{visible(service)}</strong> report. Its policy, its keys, its last 15
        minutes and its audit log are on the page of its own daemon.{' '}
        <a href={linkTo([])}>Back to {own === undefined ? 'the service of this one' : visible(own)}</a>
      </Notice>
      {view === 'parts' ? <Parts key={service} service={service} /> : <Figures key={service} service={service} />}
    </>
  )
}

function Figures({ service }: { readonly service: string }) {
  const { data, error, reload } = useApi<Stats>(`/v1/stats?top=10&service=${encodeURIComponent(service)}`, 2000)
  if (data === undefined) return error ? <ErrorState error={error} retry={reload} /> : <Loading what="reports" />
  const { replicas, rules, complete } = data
  const hasLimiter = replicas.some(({ parts }) => parts.some(({ kind }) => kind === 'limiter'))
  return (
    <>
      <h1 class="visually-hidden">Overview of {visible(service)}</h1>
      {error && <Notice kind="warn">{error.message} The figures below are older.</Notice>}
      {!complete && (
        <Notice kind="warn">Redis could not be asked, so these are the processes that report to this daemon.</Notice>
      )}
      {replicas.length === 0 ? (
        <EmptyState
          title={complete ? 'No process of this service reports' : 'No process of this service reports to this daemon'}
          text={
            complete
              ? 'Those that did have ended, or their last reports are older than ten seconds.'
              : 'Those that report to Redis may run all the same: that is not known now.'
          }
        />
      ) : (
        <>
          {hasLimiter ? (
            <>
              <Decisions data={data} />
              <div class="busy-keys">
                <TopKeys stats={data} isOther />
              </div>
              <Panel title="Rules" note="since the processes began">
                <Table label="Rules" columns={ruleColumns} rows={rules} rowKey={({ rule }) => rule} />
              </Panel>
            </>
          ) : (
            <EmptyState title="No limiter of this service reports" text="So how much it denies is not known here." />
          )}
          <Panel title="Processes" note={formatNumber(replicas.length)}>
            <Table
              label="Processes"
              columns={processColumns}
              rows={replicas.slice(0, mostRows)}
              rowKey={({ replica }) => replica}
            />
          </Panel>
        </>
      )}
    </>
  )
}

const mostRows = 100
/** The last seconds are not yet reported by all processes: they report at least every five seconds. */
const unknownSeconds = 7
const meanOf = 10

function Decisions({ data }: { readonly data: Stats }) {
  const seconds = data.recent.slice(0, -unknownSeconds)
  const mean = (of: 'allowed' | 'denied' | 'degraded'): number =>
    seconds.slice(-meanOf).reduce((sum, each) => sum + each[of], 0) / meanOf
  return (
    <section class="tiles" aria-label="Now">
      <DecisionTiles
        perSecond={{ allowed: mean('allowed'), denied: mean('denied'), degraded: mean('degraded') }}
        degradedNote="without the store"
        course={(of) => seconds.map((each) => each[of])}
      />
      <Tile label="Processes" value={formatNumber(data.replicas.length)} note="that report" />
    </section>
  )
}

const ruleColumns: readonly Column<Stats['rules'][number]>[] = [
  { id: 'rule', title: 'Rule', cell: ({ rule }) => <span class="mono">{rule}</span> },
  { id: 'allowed', title: 'Allowed', number: true, cell: ({ allowed }) => formatNumber(allowed) },
  { id: 'denied', title: 'Denied', number: true, cell: ({ denied }) => formatNumber(denied) },
  {
    id: 'share',
    title: 'Share denied',
    number: true,
    wideOnly: true,
    cell: ({ allowed, denied }) => formatShare(denied / (allowed + denied)),
  },
]

const processColumns: readonly Column<Stats['replicas'][number]>[] = [
  { id: 'process', title: 'Process', cell: ({ host, pid }) => <span class="mono">{`${host}:${pid}`}</span> },
  {
    id: 'parts',
    title: 'Parts',
    wideOnly: true,
    cell: ({ parts }) => [...new Set(parts.map(({ kind }) => kind))].join(', ') || '–',
  },
  { id: 'up', title: 'Reports for', number: true, cell: (row) => formatDuration(row.uptimeSeconds * 1000) },
  { id: 'age', title: 'Reported', number: true, cell: ({ ageMs }) => formatAgo(ageMs) },
]
