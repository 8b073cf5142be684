import type { RuleDetails, Step } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Facts } from '../../components/facts.tsx'
import { Panel } from '../../components/panel.tsx'
import { EmptyState, ErrorState, Loading } from '../../components/states.tsx'
import { formatNumber, formatShare } from '../../format/number.ts'
import { linkTo } from '../../hooks/router.ts'
import { Denials } from './denials.tsx'
import { HotKeys } from './hot-keys.tsx'
import { LimitChips } from './limit-chips.tsx'
import { figuresOf, shadowShare } from './rule-figures.ts'

const shownTiers = 6

/** One rule: its limits, what it did, how full its subjects are, and whom it denied. */
export function RuleDetail({ name }: { readonly name: string }) {
  const { data, error, reload } = useApi<RuleDetails>(`/v1/rules/${encodeURIComponent(name)}`, 4000)
  if (error?.status === 404 && data === undefined)
    return (
      <EmptyState title={`The policy has no rule ${name}`} text="It may have been renamed or removed.">
        <a class="button" href={linkTo(['rules'])}>
          All rules
        </a>
      </EmptyState>
    )
  if (data === undefined) return error ? <ErrorState error={error} retry={reload} /> : <Loading what="rule" />
  return (
    <>
      <div class="rules-head">
        <h1 class="page-title">
          <a class="soft" href={linkTo(['rules'])}>
            Rules
          </a>{' '}
          <span class="soft">/</span> {data.name} <CopyButton text={data.name} what="the name of the rule" />
        </h1>
        {data.mode === 'shadow' && <span class="badge">shadow: watches, denies nothing</span>}
      </div>
      <div class="two-columns">
        <Panel title="What it says">
          <RuleFacts rule={data} />
        </Panel>
        <Panel title={data.mode === 'shadow' ? 'Would have denied' : 'Denied'} note="per 10 s, last 15 minutes">
          <RuleHistory history={data.history} isShadow={data.mode === 'shadow'} />
          <p class="soft small">{outcomeWords(data)}</p>
        </Panel>
        <Panel title="Hottest keys" note="units used, last minute or two">
          <HotKeys
            keys={data.hottest}
            empty={data.mode === 'shadow' ? 'Keys of shadow rules are not counted.' : 'No key used this rule.'}
          />
        </Panel>
        <Panel title="Most denied keys" note="denials, last minute or two">
          <HotKeys keys={data.mostDenied} empty="No key was denied." kind="deny" />
        </Panel>
        <Panel title="How full its subjects are" note={fullnessNote(data)}>
          <Fullness {...data.fullness} />
        </Panel>
        <Panel title="Recent denials" note="the last 20 that were reported">
          <Denials denials={data.denials} />
        </Panel>
      </div>
    </>
  )
}

function fullnessNote({ fullness }: RuleDetails): string {
  return fullness.isSample
    ? `the ${fullness.looked} busiest of the last minute or two, not all`
    : `${fullness.looked === fullness.seen ? 'all' : `${fullness.looked} of`} ${fullness.seen} seen in the last minute or two`
}

function outcomeWords(rule: RuleDetails): string {
  if (rule.mode === 'shadow') {
    const share = shadowShare(rule)
    return share === undefined
      ? 'No request met it yet.'
      : `Would have denied ${formatShare(share)} of the requests that met it since the daemon started.`
  }
  const { decided, denied, shareDenied } = figuresOf(rule)
  if (shareDenied === undefined) return 'No request met it in the last 15 minutes.'
  return `${formatNumber(denied)} of ${formatNumber(decided)} requests were denied, ${formatShare(shareDenied)}.`
}

const failureModes: Readonly<Record<string, string>> = {
  open: 'allow everything',
  closed: 'deny everything',
  local: 'count this replica’s share locally',
  recount: 'ask the source of truth',
}

function RuleFacts({ rule }: { readonly rule: RuleDetails }) {
  const { match, key, tier, onStoreFailure } = rule
  return (
    <Facts
      class="facts-wide"
      rows={[
        ['Limits', <LimitChips rule={rule} />],
        ['Matches', match === null ? 'every request, or only keys' : <code>{written(match)}</code>],
        ['Key', key === null ? 'given by the caller' : <code>{written(key)}</code>],
        tier === null ? null : ['Tier', <Tier tier={tier} />],
        ['While the store is away', failureModes[onStoreFailure] ?? onStoreFailure],
      ]}
    />
  )
}

/** Which tier a request has: a line for each value that has one, when there are few. */
function Tier({ tier }: { readonly tier: unknown }) {
  const { by, map, default: otherwise } = tier as { by?: unknown; map?: unknown; default?: unknown }
  const values = Object.entries(typeof map === 'object' && map !== null ? map : {})
  if (typeof by !== 'string' || values.length === 0) return <code>{written(tier)}</code>
  return (
    <>
      by <code>{by}</code>
      <ul class="tiers soft small">
        {values.slice(0, shownTiers).map(([value, name]) => (
          <li key={value}>
            <code>{value}</code> {String(name)}
          </li>
        ))}
        {values.length > shownTiers && <li>and {values.length - shownTiers} more</li>}
        {typeof otherwise === 'string' && <li>all others {otherwise}</li>}
      </ul>
    </>
  )
}

/** Conditions in a short form: `POST /v1/analyze`. */
function written(value: unknown): string {
  const { method, path, ...others } = (typeof value === 'object' ? value : {}) as Record<string, unknown>
  if (typeof path === 'string' && Object.keys(others).length === 0) return `${method ?? ''} ${path}`.trim()
  return typeof value === 'string'
    ? value
    : JSON.stringify(value).replaceAll('"', '').replaceAll(',', ', ').replaceAll(':', ': ')
}

const whyNotLooked = 'Their tiers come from requests, nothing is counted for them, or the store does not answer.'

/** How many subjects have used how much of their tightest limit. */
function Fullness({ bins, looked, seen }: RuleDetails['fullness']) {
  if (seen === 0) return <EmptyState title="Nobody" text="No subject was seen in the last two minutes." />
  if (looked === 0) return <EmptyState title="Not known" text={whyNotLooked} />
  const most = Math.max(1, ...bins)
  return (
    <>
      <ul class="fullness" aria-label="Subjects by how much of their tightest limit is used">
        {bins.map((count, i) => (
          <li key={i}>
            <span class="fullness-count small">{count === 0 ? '' : formatNumber(count)}</span>
            <span
              class={`fullness-bar ${i === 9 ? 'fullness-full' : ''}`}
              style={{ height: `${(100 * count) / most}px` }}
            />
            <span class="soft small">{i === 9 ? '90+' : i * 10}</span>
            <span class="visually-hidden">% used</span>
          </li>
        ))}
      </ul>
      <p class="soft small fullness-axis">% of the tightest limit used</p>
    </>
  )
}

/** A bar for each step of ten seconds: how many were denied. */
function RuleHistory({ history, isShadow }: { readonly history: readonly Step[]; readonly isShadow: boolean }) {
  const values = history.map((step) => (isShadow ? step[2] : step[1]))
  const most = Math.max(1, ...values)
  if (values.every((value) => value === 0)) return <div class="history" aria-hidden="true" />
  const width = 90
  return (
    <div class="history">
      <span class="soft small history-most">{formatNumber(most)}</span>
      <svg
        viewBox={`0 0 ${width} 40`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`At most ${most} in ten seconds`}
      >
        {values.map((value, i) => (
          <rect
            key={i}
            class={isShadow ? 'history-shadow' : 'history-denied'}
            x={width - values.length + i + 0.1}
            width={0.8}
            y={40 - (40 * value) / most}
            height={(40 * value) / most}
          />
        ))}
      </svg>
      <span class="soft small history-from">15 min ago</span>
      <span class="soft small history-to">now</span>
    </div>
  )
}
