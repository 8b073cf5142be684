import { useRef, useState } from 'preact/hooks'
import type { Stats } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { Notice } from '../../components/notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { SearchField } from '../../components/search-field.tsx'
import { Sparkline } from '../../components/sparkline.tsx'
import { EmptyState, ErrorState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { formatShare } from '../../format/number.ts'
import { formatAgo } from '../../format/time.ts'
import type { PageProps } from '../../hooks/router.ts'
import { useQuery } from '../../hooks/router.ts'
import { useNow } from '../../hooks/use-now.ts'
import { type Asked, PartActions, PartButtons } from './part-actions.tsx'
import { type Group, groups, rowsOf } from './rows.ts'
import { SeenParts, type SeenRow } from './seen-parts.ts'
import '../../styles/operate.css'
import './parts.css'

const mostRows = 100

export default function OwnParts(_: PageProps) {
  return <Parts />
}

/**
 * Everything that reports besides the limiter: upstreams, caches, breakers, capacity, shippers, pipelines. Of another
 * service it only shows.
 */
export function Parts({ service }: { readonly service?: string }) {
  const of = service === undefined ? '' : `&service=${encodeURIComponent(service)}`
  const { data, error, atMs, reload } = useApi<Stats>(`/v1/stats?top=0${of}`, 2000)
  const [filter, setFilter] = useQuery('filter', '')
  const nowMs = useNow()
  const [asked, setAsked] = useState<Asked>()
  const seen = useRef<SeenParts>(null)
  seen.current ??= new SeenParts()
  const taken = useRef<unknown>(undefined)
  if (data !== undefined && taken.current !== data) {
    taken.current = data
    const rows = rowsOf(data.replicas)
    seen.current.update(service === undefined ? rows : rows.map((row) => ({ ...row, offers: [] })), atMs ?? nowMs)
  }
  if (data === undefined) return error ? <ErrorState error={error} retry={reload} /> : <Loading what="parts" />
  const all = seen.current.rows(nowMs)
  const words = filter.trim().toLowerCase()
  const rows = all.filter(({ name, process }) => `${name} ${process}`.toLowerCase().includes(words))
  const omitted = data.replicas.flatMap((each) => each.omitted.map((part) => `${part} of ${each.host}:${each.pid}`))
  return (
    <>
      <div class="parts-head">
        <h1 class="page-title">Parts</h1>
        <p class="soft small" role="status">
          {summary(all, data.replicas.length)}
        </p>
        {all.length > 5 && (
          <SearchField
            label="Filter by name or process"
            placeholder="name or process"
            value={filter}
            onChange={setFilter}
            class="parts-filter"
          />
        )}
      </div>
      {error && <Notice kind="warn">{error.message} The figures below are older.</Notice>}
      {!data.complete && (
        <Notice kind="warn">Redis could not be asked, so these are the parts that report to this daemon itself.</Notice>
      )}
      {omitted.length > 0 && (
        <Notice kind="info">Left out, as a report would have been too large: {omitted.join(', ')}</Notice>
      )}
      <PartActions asked={asked} onEnd={() => setAsked(undefined)} replicas={data.replicas} nowMs={nowMs} />
      {all.length === 0 ? (
        <Nothing service={service} />
      ) : rows.length === 0 ? (
        <EmptyState
          title="Nothing has that name"
          text="The filter goes by the name of a part and by host and process."
        />
      ) : (
        (Object.keys(groups) as Group[]).map((group) => (
          <GroupPanel key={group} group={group} rows={rows} onAsk={setAsked} />
        ))
      )}
    </>
  )
}

function summary(rows: readonly SeenRow[], processes: number): string {
  const trouble = rows.filter(({ state, isStale }) => state.kind !== 'good' || isStale).length
  const all = `${rows.length} ${rows.length === 1 ? 'part' : 'parts'} in ${processes} ${processes === 1 ? 'process' : 'processes'}`
  if (rows.length === 0) return ''
  if (trouble > 0) return `${all}, ${trouble} to look at`
  // Errors that are still counted show in the second report.
  return rows.every(({ isKnown }) => isKnown) ? `${all}, all well` : all
}

function GroupPanel(props: {
  readonly group: Group
  readonly rows: readonly SeenRow[]
  readonly onAsk: (asked: Asked) => void
}) {
  const { group, rows, onAsk } = props
  const own = rows.filter((row) => row.group === group)
  if (own.length === 0) return null
  const { title, columns, trend } = groups[group]
  const sorted = [...own].sort(
    (a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name) || a.process.localeCompare(b.process),
  )
  const shown: readonly Column<SeenRow>[] = [
    { id: 'name', title: 'Name', cell: (row) => <Name row={row} /> },
    { id: 'state', title: 'State', cell: (row) => <State row={row} onAsk={onAsk} /> },
    ...columns.map((column, i) => ({
      id: column,
      title: column,
      number: group !== 'others' && column !== 'Partitions here',
      wideOnly: i > 1,
      cell: (row: SeenRow) => cellOf(row, i),
    })),
    ...(trend === undefined
      ? []
      : [
          {
            id: 'trend',
            title: 'Trend',
            wideOnly: true,
            narrow: true,
            cell: ({ course }: SeenRow) => (
              <span title={`${trend}, while this page is open`}>
                <Sparkline values={course} width={72} height={22} />
              </span>
            ),
          },
        ]),
    { id: 'age', title: 'Reported', number: true, wideOnly: true, cell: (row) => <Age row={row} /> },
  ]
  return (
    <Panel class="parts-panel" title={title} note={note(group, own.length)}>
      <Table label={title} columns={shown} rows={sorted.slice(0, mostRows)} rowKey={({ id }) => id} />
      {sorted.length > mostRows && (
        <p class="soft small">
          The first {mostRows} of {sorted.length}, those to look at first. The filter finds the others.
        </p>
      )}
    </Panel>
  )
}

function note(group: Group, count: number): string {
  if (group === 'upstreams') return `${count}, waiting calls are those of all processes`
  if (group === 'caches' || group === 'breakers')
    return `${count}, shares of the last minute where there were enough calls, else since the start`
  return String(count)
}

/** Problems first, then rows without recent reports. */
const rank = ({ state, isStale }: SeenRow): number =>
  state.kind === 'bad' ? 0 : state.kind === 'warn' ? 1 : isStale ? 2 : 3

function cellOf(row: SeenRow, index: number): string {
  if (index === 0 && row.recentShare !== undefined) return formatShare(row.recentShare)
  return row.cells[index] ?? '–'
}

function Name({ row }: { readonly row: SeenRow }) {
  return (
    <div class={row.isStale ? 'stale-row' : undefined}>
      <span class="mono">{row.name}</span>
      <div class="soft small">
        {row.process}
        <span class="narrow-only"> · {formatAgo(row.seenMsAgo)}</span>
      </div>
    </div>
  )
}

const marks = { good: '●', warn: '▲', bad: '✕' }

function State({ row, onAsk }: { readonly row: SeenRow; readonly onAsk: (asked: Asked) => void }) {
  if (row.isStale) return <span class="state-word stale-row">○ silent, {formatAgo(row.seenMsAgo)}</span>
  return (
    <>
      <span class={`state-word state-${row.state.kind}`}>
        <span aria-hidden="true">{marks[row.state.kind]}</span> {row.state.text}
      </span>
      <PartButtons row={row} onAsk={onAsk} />
    </>
  )
}

function Age({ row }: { readonly row: SeenRow }) {
  return <span class={row.isStale ? 'stale-row' : 'soft'}>{formatAgo(row.seenMsAgo)}</span>
}

function Nothing({ service }: { readonly service: string | undefined }) {
  if (service !== undefined) return <EmptyState title="No part of this service reports" />
  return (
    <EmptyState
      title="No part reports yet"
      text="Processes whose parts share a Redis handle report them by themselves. Others send them with startReports from sluice/reports."
    >
      <pre class="parts-example">
        {`startReports({
  service: 'shop',
  to: daemonReports('${location.origin}', { token }),
  parts: [partReport('cache', prices, 'prices')],
})`}
      </pre>
    </EmptyState>
  )
}
