import { useEffect, useState } from 'preact/hooks'
import { api } from '../../api/api.ts'
import type { Trial as Outcome } from '../../api/shapes.ts'
import { Notice } from '../../components/notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { ErrorState } from '../../components/states.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Tile } from '../../components/tile.tsx'
import { formatNumber, formatShare } from '../../format/number.ts'
import { formatClock, formatDuration } from '../../format/time.ts'
import { linkTo } from '../../hooks/router.ts'

type Subject = Outcome['subjects'][number]

/** Replays the last requests of this daemon through the text, and compares it with the running policy. */
export function Trial({ text, isGood }: { readonly text: string; readonly isGood: boolean }) {
  const [state, setState] = useState<{ text: string; outcome?: Outcome; error?: Error }>()
  const [isBusy, setBusy] = useState(false)
  const isStale = state !== undefined && state.text !== text
  const tryIt = async (): Promise<void> => {
    setBusy(true)
    try {
      setState({ text, outcome: await api<Outcome>('POST', '/v1/policy/try', { body: text }) })
    } catch (error) {
      setState({ text, error: error as Error })
    }
    setBusy(false)
  }
  useEffect(() => setBusy(false), [text])
  return (
    <Panel
      title="Try it"
      note="with the last requests of this daemon; nothing is spent"
      actions={
        <button class="button" type="button" disabled={!isGood || isBusy} onClick={tryIt}>
          {isBusy ? 'Replaying …' : state ? 'Try again' : 'Try it'}
        </button>
      }
    >
      {state === undefined && (
        <p class="soft">
          Replays up to 10,000 requests at the times they came, through the text above and through the policy that runs,
          and shows who would have been denied.
        </p>
      )}
      {state?.error && <ErrorState error={state.error} />}
      {isStale && <p class="soft">The text has changed since this was tried.</p>}
      {state?.outcome && (
        <div class={isStale ? 'stale' : undefined}>
          <Compared outcome={state.outcome} />
        </div>
      )}
    </Panel>
  )
}

function Compared({ outcome }: { readonly outcome: Outcome }) {
  const { requests, fromMs, toMs, denied, newlyDenied, newlyAllowed, deniedThen } = outcome
  if (requests === 0 || fromMs === null || toMs === null)
    return (
      <p class="soft">
        This daemon has not decided on any request yet. Requests that services decide on by themselves do not pass here.
      </p>
    )
  return (
    <>
      <p class="soft small" role="status">
        {requests.toLocaleString('en')} requests in {formatDuration(toMs - fromMs)}, from {formatClock(fromMs)} to{' '}
        {formatClock(toMs)}. Both start with empty counters; {deniedThen.toLocaleString('en')} were denied when they
        came.
      </p>
      <div class="tiles trial-tiles">
        <Tile
          label="Denied by what runs"
          value={formatNumber(denied.running)}
          note={formatShare(denied.running / requests)}
        />
        <Tile
          label="Denied by the text"
          value={formatNumber(denied.tried)}
          note={formatShare(denied.tried / requests)}
        />
        <Tile label="Newly denied" value={formatNumber(newlyDenied)} note="passes now" />
        <Tile label="Newly allowed" value={formatNumber(newlyAllowed)} note="is denied now" />
      </div>
      {outcome.unknown.map(({ rule, field, requests: count }) => (
        <Notice key={`${rule} ${field}`} kind="warn">
          <code>{rule}</code> looks at <code>{field}</code>, which was not kept for {count.toLocaleString('en')}{' '}
          requests: it may have been skipped there.
        </Notice>
      ))}
      {outcome.notes.map((note) => (
        <Notice key={note} kind="info">
          {note}
        </Notice>
      ))}
      {outcome.subjects.length > 0 && <Subjects outcome={outcome} />}
      <Rules outcome={outcome} />
    </>
  )
}

function Subjects({ outcome: { subjects, subjectsDenied } }: { readonly outcome: Outcome }) {
  const columns: readonly Column<Subject>[] = [
    {
      id: 'key',
      title: 'Who is denied',
      cell: ({ key }) => (
        <a class="mono" href={linkTo(['keys'], { key })}>
          {key.split('/').slice(1).join('/')}
        </a>
      ),
    },
    {
      id: 'requests',
      title: 'Requests',
      number: true,
      wideOnly: true,
      cell: ({ requests }) => requests.toLocaleString('en'),
    },
    ...deniedColumns,
  ]
  return (
    <>
      <Table
        label="Who would have been denied, now and with the text"
        columns={columns}
        rows={subjects}
        rowKey={({ key }) => key}
      />
      {subjectsDenied > subjects.length && (
        <p class="soft small">
          The {subjects.length} with the largest difference, of {subjectsDenied.toLocaleString('en')}.
        </p>
      )}
    </>
  )
}

function Change({ denied: { running, tried } }: Pick<Subject, 'denied'>) {
  const change = tried - running
  if (change === 0) return <span class="soft">same</span>
  return (
    <span class={change > 0 ? 'deny' : 'good'}>
      {change > 0 ? `+${change.toLocaleString('en')}` : `−${(-change).toLocaleString('en')}`}
    </span>
  )
}

const deniedColumns: readonly Column<Pick<Subject, 'denied'>>[] = [
  { id: 'running', title: 'now', number: true, cell: ({ denied }) => denied.running.toLocaleString('en') },
  { id: 'tried', title: 'new', number: true, cell: ({ denied }) => denied.tried.toLocaleString('en') },
  { id: 'change', title: 'change', number: true, cell: ({ denied }) => <Change denied={denied} /> },
]

const shadowColumn: Column<Outcome['rules'][number]> = {
  id: 'shadow',
  title: 'would deny (shadow)',
  number: true,
  wideOnly: true,
  cell: ({ shadow }) =>
    shadow.running + shadow.tried === 0
      ? ''
      : `${shadow.running.toLocaleString('en')} → ${shadow.tried.toLocaleString('en')}`,
}

function Rules({ outcome: { rules } }: { readonly outcome: Outcome }) {
  const touched = rules.filter(
    ({ denied, shadow }) => denied.running + denied.tried + shadow.running + shadow.tried > 0,
  )
  if (touched.length === 0) return <p>No rule denies any of them, now or with the text.</p>
  const hasShadow = touched.some(({ shadow }) => shadow.running + shadow.tried > 0)
  const columns: readonly Column<Outcome['rules'][number]>[] = [
    { id: 'rule', title: 'By rule', cell: ({ rule }) => <a href={linkTo(['rules', rule])}>{rule}</a> },
    ...(hasShadow ? [shadowColumn] : []),
    ...deniedColumns,
  ]
  return (
    <Table
      label="Denials by rule, now and with the text"
      columns={columns}
      rows={touched}
      rowKey={({ rule }) => rule}
    />
  )
}
