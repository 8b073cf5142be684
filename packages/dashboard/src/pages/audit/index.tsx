import type { AuditEntry } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { Notice } from '../../components/notice.tsx'
import { changeWords } from '../../components/operator-changes.tsx'
import { Panel } from '../../components/panel.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { SearchField } from '../../components/search-field.tsx'
import { EmptyState, ErrorState, Loading } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { type PageProps, useQuery } from '../../hooks/router.ts'
import '../../styles/operate.css'
import './audit.css'

const mostRows = 200

/** What operators changed through this daemon: who, what, before and after. */
export default function Audit(_: PageProps) {
  const { data, error, reload } = useApi<{ entries: readonly AuditEntry[] }>('/v1/audit?limit=1000', 5000)
  const [filter, setFilter] = useQuery('filter', '')
  if (data === undefined) return error ? <ErrorState error={error} retry={reload} /> : <Loading what="audit log" />
  const wanted = filter.trim().toLowerCase()
  const rows = data.entries.filter((entry) => textOf(entry).includes(wanted))
  return (
    <>
      <div class="audit-head">
        <h1 class="page-title">Audit log</h1>
        <SearchField
          label="Filter by person, change or target"
          placeholder="who, what or which"
          value={filter}
          onChange={setFilter}
        />
      </div>
      {error && <Notice kind="warn">{error.message} The list below is older.</Notice>}
      <Panel
        class="audit-panel"
        title="Changes by operators"
        note="through this daemon, the last 1,000 since it started; its log has all"
      >
        {rows.length === 0 ? (
          <EmptyState
            title={data.entries.length === 0 ? 'Nothing was changed yet' : 'No change has that'}
            text="Policies that are published, overrides, resets and blocks are listed here."
          />
        ) : (
          <Table label="Changes by operators" columns={columns} rows={rows.slice(0, mostRows)} rowKey={keyOf} />
        )}
        {rows.length > mostRows && (
          <p class="soft small">
            The newest {mostRows} of {rows.length}. The filter finds the others.
          </p>
        )}
      </Panel>
    </>
  )
}

const keyOf = ({ id }: AuditEntry): string => String(id)

function textOf({ what, target, who }: AuditEntry): string {
  return `${what} ${changeWords[what]} ${target} ${who.name} ${who.address}`.toLowerCase()
}

const columns: readonly Column<AuditEntry>[] = [
  { id: 'when', title: 'When', narrow: true, cell: ({ when }) => <RelativeTime atMs={Date.parse(when)} /> },
  {
    id: 'who',
    title: 'Who',
    cell: ({ who }) => (
      <>
        <span class="mono">{who.name}</span>
        <div class="soft small">
          {who.via === 'page' ? 'page' : 'token'}, {who.address}
        </div>
      </>
    ),
  },
  {
    id: 'what',
    title: 'Change',
    cell: (entry) => (
      <>
        {changeWords[entry.what]} <code>{entry.target}</code>
        <details class="audit-details">
          <summary class="soft small">before and after</summary>
          <dl>
            <dt class="soft small">before</dt>
            <dd>
              <pre class="mono">{shown(entry.before)}</pre>
            </dd>
            <dt class="soft small">after</dt>
            <dd>
              <pre class="mono">{shown(entry.after)}</pre>
            </dd>
          </dl>
        </details>
      </>
    ),
  },
]

function shown(value: unknown): string {
  return value === null ? 'nothing' : typeof value === 'string' ? value : JSON.stringify(value, null, 2)
}
