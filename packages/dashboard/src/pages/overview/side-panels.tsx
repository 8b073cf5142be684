import type { Overview } from '../../api/shapes.ts'
import { Facts } from '../../components/facts.tsx'
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
  const standing = !store.ok ? 'degraded' : data.outage ? 'back for a moment' : 'exact'
  const exact = (
    <>
      <span class={`dot ${!store.ok ? 'dot-bad' : data.outage ? 'dot-waiting' : ''}`} aria-hidden="true" />
      {standing}
    </>
  )
  const name = storeName(store.name).replace(/^The (.)/, (_, first: string) => first.toUpperCase())
  const used =
    store.roundTripP99Ms === null
      ? []
      : ([
          ['Round trip p99', `${formatNumber(store.roundTripP99Ms)} ms`],
          ['Decisions per call', formatNumber(store.decisionsPerCall)],
          ['Answered locally', formatShare(store.answeredLocally ?? undefined)],
        ] as const)
  const all = [
    formatNumber(replicas.length),
    ...(away > 0 && replicas.length > 1 ? [`${away} without the store`] : []),
    ...(overdue.length > 0 ? [`${overdue.length} last seen ${formatDuration(Math.max(...overdue))} ago`] : []),
  ]
  return (
    <Panel title="Store">
      <Facts
        rows={[
          [name, exact],
          ...used,
          ['Breaker', breakers[store.breaker] ?? store.breaker],
          ['Replicas', all.join(', ')],
          ['Shown by', `${shown?.host} · ${shown?.pid}`, `process ${shown?.pid}, ${shown?.replica}`],
        ]}
      />
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
      <Facts
        rows={[
          ['Version', <span class="mono">{policy.version.slice(0, 7)}</span>, policy.version],
          ['Source', policy.source],
          ['In force', `${formatDuration(Math.floor(policy.ageMs / 1000) * 1000)}, on ${same} of ${told.length}`],
          change ? ['Last change', change] : null,
        ]}
      />
      {policy.lastError && <p class="small note warning">{policy.lastError}</p>}
      <p class="small note links">
        <a href={linkTo(['policy'])}>{policy.writable ? 'Edit, try a change, history' : 'Look at it, try a change'}</a>
      </p>
    </Panel>
  )
}
