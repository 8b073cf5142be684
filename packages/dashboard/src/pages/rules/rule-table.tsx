import type { HotKey, RuleSummary } from '../../api/shapes.ts'
import { Sparkline } from '../../components/sparkline.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { keyParts } from '../../format/key.ts'
import { formatNumber, formatShare } from '../../format/number.ts'
import { linkTo } from '../../hooks/router.ts'
import { LimitChips } from './limit-chips.tsx'
import { figuresOf, shadowShare } from './rule-figures.ts'

const columns: readonly Column<RuleSummary>[] = [
  { id: 'policy', title: 'Rule', sortable: true, cell: (rule) => <RuleName rule={rule} /> },
  {
    id: 'limits',
    title: 'Limits',
    wideOnly: true,
    cell: (rule) => <LimitChips rule={rule} />,
  },
  {
    id: 'hottest',
    title: 'Hottest key',
    wideOnly: true,
    cell: ({ hottestKey, keysAlike }) => <KeyLink hot={hottestKey} isAlike={keysAlike.hottest} />,
  },
  {
    id: 'most-denied',
    title: 'Most denied key',
    wideOnly: true,
    cell: ({ mostDeniedKey, keysAlike }) => <KeyLink hot={mostDeniedKey} isAlike={keysAlike.mostDenied} />,
  },
  {
    id: 'decided',
    title: 'Decided',
    number: true,
    wideOnly: true,
    sortable: true,
    cell: (rule) => (rule.mode === 'shadow' ? '–' : formatNumber(figuresOf(rule).decided)),
  },
  { id: 'denied', title: 'Denied', number: true, sortable: true, cell: (rule) => <Denied rule={rule} /> },
  {
    id: 'denials',
    title: 'Denials',
    number: true,
    cell: (rule) => <Denials rule={rule} />,
  },
  { id: 'spark', title: 'Trend', narrow: true, cell: (rule) => <RuleSpark rule={rule} /> },
]

/** One row for each rule. */
export function RuleTable(props: {
  readonly rules: readonly RuleSummary[]
  readonly sort?: string
  readonly onSort?: (sort: string) => void
  readonly isFull?: boolean
}) {
  const { rules, isFull = false, ...sorting } = props
  const left = isFull ? ['denials'] : ['hottest', 'most-denied', 'decided', 'denied']
  const shown = columns.filter(({ id }) => !left.includes(id))
  return <Table label="Rules" columns={shown} rows={rules} rowKey={({ name }) => name} {...sorting} />
}

function RuleName({ rule }: { readonly rule: RuleSummary }) {
  return (
    <>
      <a href={linkTo(['rules', rule.name])}>{rule.name}</a>
      {rule.mode === 'shadow' && (
        <>
          {' '}
          <span class="badge">shadow</span>
        </>
      )}
    </>
  )
}

function KeyLink({ hot, isAlike }: { readonly hot: HotKey | null; readonly isAlike: boolean }) {
  if (hot === null) return <span class="soft">{isAlike ? 'none stands out' : '–'}</span>
  return (
    <a class="mono key-cell" href={linkTo(['keys'], { key: hot.key })} title={hot.key}>
      {keyParts(hot.key) || hot.key}
    </a>
  )
}

/** A shadow rule denies nothing: shows what it would do. */
function Denied({ rule }: { readonly rule: RuleSummary }) {
  const { denied, shareDenied } = figuresOf(rule)
  if (rule.mode === 'shadow') {
    const share = shadowShare(rule)
    return share === undefined ? <span class="soft">–</span> : <span class="soft">would deny {formatShare(share)}</span>
  }
  if (shareDenied === undefined) return <span class="soft">–</span>
  return <span title={`${formatNumber(denied)} in 15 minutes`}>{formatShare(shareDenied)}</span>
}

/** How many were denied, and which share that is. */
function Denials({ rule }: { readonly rule: RuleSummary }) {
  const { denied, shareDenied } = figuresOf(rule)
  if (rule.mode === 'shadow' || shareDenied === undefined) return <Denied rule={rule} />
  return (
    <>
      {formatNumber(denied)} <span class="soft small share">{formatShare(shareDenied)}</span>
    </>
  )
}

function RuleSpark({ rule }: { readonly rule: RuleSummary }) {
  const isShadow = rule.mode === 'shadow'
  const values = rule.history.map((step) => (isShadow ? step[2] : step[1]))
  // A line along the bottom of every quiet rule would only distract.
  if (values.every((value) => value === 0)) return null
  return <Sparkline kind={isShadow ? 'degraded' : 'deny'} width={72} height={22} values={values} />
}
