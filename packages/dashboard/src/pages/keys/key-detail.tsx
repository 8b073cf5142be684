import { useState } from 'preact/hooks'
import { keyPath } from '../../api/key-path.ts'
import { person } from '../../api/session.ts'
import type { AuditEntry, Inspection } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Gauge } from '../../components/gauge.tsx'
import { type Done, DoneNotice, Notice } from '../../components/notice.tsx'
import { OperatorChanges } from '../../components/operator-changes.tsx'
import { Panel } from '../../components/panel.tsx'
import { ErrorState, Loading } from '../../components/states.tsx'
import { keyParts } from '../../format/key.ts'
import { formatDuration } from '../../format/time.ts'
import { linkTo } from '../../hooks/router.ts'
import { useNow } from '../../hooks/use-now.ts'
import { useValue } from '../../hooks/value.ts'
import { Assumed } from './assumed.tsx'
import { KeyActions } from './key-actions.tsx'
import { Override } from './override.tsx'

/** One bucket: how full it is, what holds places in it, and what can be done about it. */
export function KeyDetail({ readable, tier }: { readonly readable: string; readonly tier: string }) {
  const search = tier === '' ? '' : `?tier=${encodeURIComponent(tier)}`
  const { data, error, atMs, reload } = useApi<Inspection>(`${keyPath('/v1/keys/', readable)}${search}`, 2000)
  const isAdmin = useValue(person).role === 'admin'
  const audit = useApi<{ entries: readonly AuditEntry[] }>(isAdmin ? '/v1/audit?limit=200' : undefined, 5000)
  const nowMs = useNow()
  const [done, setDone] = useState<Done>()
  if (data === undefined && error)
    return (
      <>
        <ErrorState error={error} retry={reload} />
        <Assumed names={['tier']} isNeeded={false} />
      </>
    )
  if (data === undefined) return <Loading what="key" />
  const ageMs = Math.max(0, nowMs - (atMs ?? nowMs))
  const changed = (): void => {
    reload()
    audit.reload()
  }
  const entries = audit.data?.entries.filter(({ target }) => target === data.key) ?? []
  return (
    <>
      <Panel
        title={keyParts(data.key)}
        note={
          <>
            of the rule <a href={linkTo(['rules', data.rule])}>{data.rule}</a>
          </>
        }
        actions={
          isAdmin && (
            <KeyActions
              inspection={data}
              readable={readable}
              onDone={(ended) => {
                setDone(ended)
                changed()
              }}
            />
          )
        }
      >
        <p class="key-line">
          <code>{data.key}</code> <CopyButton text={data.key} what="the key" />
        </p>
        {error && (
          <Notice kind="warn">
            These figures are {formatDuration(ageMs)} old: {error.message}
          </Notice>
        )}
        {data.degraded && data.limits.length > 0 && (
          <Notice kind="warn">
            The store does not answer. These figures are only what one process knows without it, such as its own share.
          </Notice>
        )}
        <DoneNotice done={done} />
        <p>{standing(data, ageMs)}</p>
        <Assumed names={['tier']} isNeeded={data.tierUnknown} />
        <div class="gauges">
          {data.limits
            .filter((limit) => !limit.block)
            .map((limit) => (
              <Gauge key={limit.name} limit={limit} ageMs={ageMs} />
            ))}
        </div>
        {data.holds.length > 0 && <Holds holds={data.holds} />}
      </Panel>
      <Override inspection={data} readable={readable} onChange={changed} />
      <OperatorChanges entries={entries.slice(0, 10)} />
    </>
  )
}

function standing({ limits, fixed, tierUnknown }: Inspection, ageMs: number): string {
  if (tierUnknown) return 'Its tier is not known here, and so its limits are not.'
  if (fixed) return fixed === 'deny' ? 'The policy denies this key.' : 'The policy does not limit this key.'
  if (limits.length === 0) return 'The store could not be asked.'
  const block = limits.find((limit) => limit.block)
  if (block) return `It is blocked; that ends in ${formatDuration(Math.max(0, block.resetMs - ageMs))}.`
  if (limits.some(({ windowMs, retryAfterMs }) => windowMs === 0 && retryAfterMs !== null && retryAfterMs > 0))
    return 'It is denied now; its next unit passes when one in flight ends.'
  const waits = limits.map(({ retryAfterMs }) =>
    retryAfterMs === null ? Number.POSITIVE_INFINITY : retryAfterMs - ageMs,
  )
  const longest = Math.max(...waits)
  if (longest <= 0) return 'Its next unit passes.'
  return Number.isFinite(longest)
    ? `It is denied now; its next unit passes in ${formatDuration(longest)}.`
    : 'It is denied, and nothing ever passes.'
}

function Holds({ holds }: Pick<Inspection, 'holds'>) {
  return (
    <details class="holds">
      <summary>
        {holds.length} open {holds.length === 1 ? 'hold' : 'holds'}
      </summary>
      <ul>
        {holds.slice(0, 50).map(({ id, cost, expiresInMs }) => (
          <li key={id}>
            <code>{id}</code>{' '}
            <span class="soft small">
              {cost} units, ends by itself in {formatDuration(expiresInMs)}
            </span>
          </li>
        ))}
      </ul>
      {holds.length > 50 && <p class="soft small">and {holds.length - 50} more</p>}
    </details>
  )
}
