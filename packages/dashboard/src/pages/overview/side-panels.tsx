import type { Overview } from '../../api/shapes.ts'
import { Panel } from '../../components/panel.tsx'
import { formatNumber, formatShare } from '../../format/number.ts'
import { formatDuration } from '../../format/time.ts'
import { linkTo } from '../../hooks/router.ts'
import { useValue } from '../../hooks/value.ts'
import { live } from '../../live/live.ts'
import { staleMs } from '../parts/seen-parts.ts'
import { happeningWords, storeName } from './words.ts'

const breakers: Readonly<Record<string, string>> = {
  closed: 'closed: decisions go to the store',
  open: 'open: not called',
  'half-open': 'half-open: tried with single calls',
}

/** Whether counting is exact, and what the store costs. */
export function StorePanel({ data }: { readonly data: Overview }) {
  const { store, replicas } = data
  const away = replicas.filter(({ breaker }) => breaker !== null && breaker !== 'closed').length
  const overdue = replicas.map(({ ageMs }) => ageMs).filter((ageMs) => ageMs > staleMs)
  const shown = replicas.find(({ isShown }) => isShown)
  return (
    <Panel title="Store">
      <dl class="facts">
        <dt>{storeName(store.name).replace(/^The (.)/, (_, first: string) => first.toUpperCase())}</dt>
        <dd>
          <span class={`dot ${!store.ok ? 'dot-bad' : data.outage ? 'dot-waiting' : ''}`} aria-hidden="true" />
          {!store.ok ? 'degraded' : data.outage ? 'back for a moment' : 'exact'}
        </dd>
        {store.roundTripP99Ms !== null && (
          <>
            <dt>Round trip p99</dt>
            <dd>{formatNumber(store.roundTripP99Ms)} ms</dd>
            <dt>Decisions per call</dt>
            <dd>{formatNumber(store.decisionsPerCall)}</dd>
            <dt>Answered locally</dt>
            <dd>{formatShare(store.answeredLocally ?? undefined)}</dd>
          </>
        )}
        <dt>Breaker</dt>
        <dd>{breakers[store.breaker] ?? store.breaker}</dd>
        <dt>Replicas</dt>
        <dd>
          {formatNumber(replicas.length)}
          {away > 0 && replicas.length > 1 && `, ${away} without the store`}
          {overdue.length > 0 && `, ${overdue.length} last seen ${formatDuration(Math.max(...overdue))} ago`}
        </dd>
        <dt>Shown by</dt>
        <dd title={`process ${shown?.pid}, ${shown?.replica}`}>
          {shown?.host} · {shown?.pid}
        </dd>
      </dl>
      {store.warnings.map((warning) => (
        <p class="small note warning" key={warning}>
          {warning}
        </p>
      ))}
    </Panel>
  )
}

export function PolicyPanel({ data }: { readonly data: Overview }) {
  const { policy, replicas } = data
  const { happenings } = useValue(live.timeline)
  const last = happenings.findLast(({ kind }) => kind === 'policy')
  const told = replicas.filter(({ policyVersion }) => policyVersion !== null)
  const same = told.filter(({ policyVersion }) => policyVersion === policy.version).length
  const change = last && happeningWords(last, data.store.name).note
  return (
    <Panel title="Policy">
      <dl class="facts">
        <dt>Version</dt>
        <dd class="mono" title={policy.version}>
          {policy.version.slice(0, 7)}
        </dd>
        <dt>Source</dt>
        <dd>{policy.source}</dd>
        <dt>In force</dt>
        <dd>
          {formatDuration(Math.floor(policy.ageMs / 1000) * 1000)}, on {same} of {told.length}
        </dd>
        {change && (
          <>
            <dt>Last change</dt>
            <dd>{change}</dd>
          </>
        )}
      </dl>
      {policy.lastError && <p class="small note warning">{policy.lastError}</p>}
      <p class="small note links">
        <a href={linkTo(['policy'])}>{policy.writable ? 'Edit, try a change, history' : 'Look at it, try a change'}</a>
      </p>
    </Panel>
  )
}
