import type { ExplainedRule, Explanation } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { Gauge } from '../../components/gauge.tsx'
import { Notice } from '../../components/notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { ErrorState, Loading } from '../../components/states.tsx'
import { formatDuration } from '../../format/time.ts'
import { linkTo } from '../../hooks/router.ts'
import { useNow } from '../../hooks/use-now.ts'
import { Assumed } from './assumed.tsx'

interface Props {
  readonly body: { readonly key: unknown } | { readonly request: unknown }
  readonly what: string
  readonly notes: readonly string[]
}

/** Explaining spends nothing, so it is repeated automatically. */
const againMs = 4000

/** What every rule decides for a key or a request. */
export function Explained({ body, what, notes }: Props) {
  const { data, error, atMs, reload } = useApi<Explanation>('/v1/explain', againMs, body)
  const nowMs = useNow()
  // An old explanation is not shown beside an error: its countdown would go on to an answer that nobody gave.
  if (error)
    return (
      <>
        <ErrorState error={error} retry={reload} />
        <Assumed names={['tier']} isNeeded={false} />
      </>
    )
  if (data === undefined) return <Loading />
  const matched = data.rules.filter((rule) => rule.matched)
  // A key may match rules that never apply to it: where it has used nothing, only the name is shown.
  const [shown, unused] =
    'key' in body && matched.some(isUsed)
      ? [matched.filter(isUsed), matched.filter((rule) => !isUsed(rule))]
      : [matched, []]
  const others = data.rules.filter((rule) => !rule.matched)
  const ageMs = Math.max(0, nowMs - (atMs ?? nowMs))
  return (
    <>
      <Verdict explanation={data} what={what} ageMs={ageMs} again={reload} />
      {notes.map((note) => (
        <Notice key={note} kind="info">
          {note}
        </Notice>
      ))}
      {'request' in body ? (
        <Assumed names={['ip', 'context']} />
      ) : (
        <Assumed names={['tier']} isNeeded={data.rules.some(({ tierUnknown }) => tierUnknown)} />
      )}
      {shown.map((rule) => (
        <MatchedRule key={rule.rule} rule={rule} ageMs={ageMs} />
      ))}
      {unused.length > 0 && (
        <Panel title="Rules where it has used nothing" note={`${unused.length} of ${data.rules.length}`}>
          <ul class="unused">
            {unused.map(({ rule, key }) => (
              <li key={rule}>
                <a href={linkTo(['keys'], { key: key ?? undefined })}>{rule}</a>
              </li>
            ))}
          </ul>
        </Panel>
      )}
      {others.length > 0 && (
        <Panel title="Rules that do not apply" note={`${others.length} of ${data.rules.length}`}>
          <dl class="why">
            {others.map(({ rule, why }) => (
              <div key={rule}>
                <dt>
                  <a href={linkTo(['rules', rule])}>{rule}</a>
                </dt>
                <dd class="soft">{why}</dd>
              </div>
            ))}
          </dl>
        </Panel>
      )}
    </>
  )
}

const isUsed = ({ limits }: ExplainedRule): boolean => limits.some(({ amount, remaining }) => remaining < amount)

function Verdict(props: {
  readonly explanation: Explanation
  readonly what: string
  readonly ageMs: number
  readonly again: () => void
}) {
  const { decision, rules, policyVersion } = props.explanation
  const waitMs = decision?.retryAfterMs == null ? Number.POSITIVE_INFINITY : decision.retryAfterMs - props.ageMs
  const isInFlight =
    decision?.limits.some(
      ({ windowMs, retryAfterMs }) => windowMs === 0 && retryAfterMs !== null && retryAfterMs > 0,
    ) === true
  const endsByItself = !isInFlight && (decision?.reason === 'quota' || decision?.reason === 'blocked')
  const passes = decision && (decision.allowed || (endsByItself && waitMs <= 0))
  const [mark, tone] = decision === null ? ['?', 'unknown'] : passes ? ['✓', 'pass'] : ['✕', 'deny']
  return (
    <section class="panel verdict" aria-live="polite">
      <div class={`verdict-mark verdict-${tone}`} aria-hidden="true">
        {mark}
      </div>
      <div class="verdict-text">
        <strong>
          {decision === null
            ? 'Not known: it depends on a tier that is not known here'
            : passes
              ? passText(rules)
              : denyText(decision.rule, decision.reason)}
        </strong>
        {!passes && endsByItself && (
          <div class="soft">
            {Number.isFinite(waitMs)
              ? `It would pass in ${formatDuration(waitMs)}.`
              : 'It never passes: it costs more than a limit allows.'}
          </div>
        )}
        {!passes && isInFlight && <div class="soft">It passes when one in flight ends.</div>}
        <div class="soft verdict-what">{props.what}</div>
        {decision?.degraded && (
          <div class="soft">The store could not be asked, so this is what rules do without it.</div>
        )}
      </div>
      <div class="verdict-side soft small">
        <span>policy {policyVersion}</span>
        <button class="button" type="button" onClick={props.again}>
          Ask again
        </button>
      </div>
    </section>
  )
}

function passText(rules: readonly ExplainedRule[]): string {
  return rules.some(({ matched, mode }) => matched && mode === 'enforce')
    ? 'It would pass now'
    : 'It passes: no rule applies'
}

function denyText(rule: string | null, reason: string): string {
  if (reason === 'missing-key') return `Refused by ${rule}: it lacks what the rule's key is made of`
  if (reason === 'forbidden') return `Denied by ${rule}: its limits for this key are deny`
  if (reason === 'blocked') return `Denied by ${rule}: the key is blocked for a while`
  if (reason === 'unavailable') return `Denied by ${rule}, as the store cannot be asked`
  return `Denied by ${rule}`
}

function MatchedRule({ rule, ageMs }: { readonly rule: ExplainedRule; readonly ageMs: number }) {
  const note = [
    rule.tier && `tier ${rule.tier}`,
    rule.cost !== null && rule.cost !== 1 && `costs ${rule.cost} units`,
  ].filter(Boolean)
  return (
    <Panel
      title={rule.rule}
      note={
        <>
          {rule.mode === 'shadow' && <span class="badge">shadow, never denies</span>} {note.join(' · ')}
        </>
      }
      actions={
        rule.key && (
          <a class="button" href={linkTo(['keys'], { key: rule.key })}>
            Open key
          </a>
        )
      }
    >
      <p class="soft small">{rule.why}</p>
      {rule.key && (
        <p class="key-line">
          <code>{rule.key}</code> <CopyButton text={rule.key} what={`the key of ${rule.rule}`} />
        </p>
      )}
      {rule.fixed && <p>{rule.fixed === 'deny' ? 'Nothing passes.' : 'Nothing is limited.'}</p>}
      <div class="gauges">
        {rule.limits.map((limit) => (
          <Gauge key={limit.name} limit={limit} ageMs={ageMs} />
        ))}
      </div>
    </Panel>
  )
}
