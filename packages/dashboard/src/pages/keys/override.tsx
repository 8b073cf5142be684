import { useState } from 'preact/hooks'
import { api, apiAnswer } from '../../api/api.ts'
import { keyPath } from '../../api/key-path.ts'
import { person } from '../../api/session.ts'
import type { Inspection, Policy } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { type Done, DoneNotice, failed, Notice } from '../../components/notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { formatMoment } from '../../format/time.ts'
import { linkTo } from '../../hooks/router.ts'
import { useValue } from '../../hooks/value.ts'
import { Length } from './length.tsx'
import { editableLimits, limitsOf, shortText } from './limits-form.ts'

interface Props {
  readonly inspection: Inspection
  readonly readable: string
  readonly onChange: () => void
}

/** Other limits for this key until a given time. They are pushed as a new version of the policy. */
export function Override({ inspection, readable, onChange }: Props) {
  const policy = useApi<Policy>('/v1/policy', 10_000)
  const fields = editableLimits(inspection)
  const [amounts, setAmounts] = useState<Readonly<Record<string, string>>>({})
  const [length, setLength] = useState('3600000')
  const [asked, setAsked] = useState<{ verb: 'set' | 'remove'; etag: string; version: string }>()
  const [done, setDone] = useState<Done>()
  const { override } = inspection
  const isAdmin = useValue(person).role === 'admin'
  const readOnly = isAdmin ? policy.data?.readOnly : 'Your token may look, and change nothing.'
  const until = new Date(Date.now() + Number(length)).toISOString()
  const isExpired = override?.until !== undefined && new Date(override.until).getTime() <= Date.now()

  // With the same numbers nothing but the end of an override could change.
  const isChanged =
    override !== null || fields.some(({ id, amount }) => amounts[id] !== undefined && Number(amounts[id]) !== amount)

  const ask = async (verb: 'set' | 'remove'): Promise<void> => {
    setDone(undefined)
    try {
      // The confirmed change applies to exactly this version.
      const { body, headers } = await apiAnswer<Policy>('GET', '/v1/policy')
      setAsked({ verb, etag: headers.get('etag') ?? '', version: body.version })
    } catch (error) {
      setDone(failed(error))
    }
  }
  const confirm = async (): Promise<void> => {
    const { verb, etag } = asked!
    try {
      const path = keyPath('/v1/policy/overrides/', readable)
      const headers = { 'if-match': etag }
      if (verb === 'remove') await api('DELETE', path, { headers })
      else await api('PUT', path, { headers, body: { limits: limitsOf(inspection, amounts), until } })
      setDone({
        kind: 'good',
        text:
          verb === 'set'
            ? `In force until ${formatMoment(Date.parse(until))}.`
            : 'Removed: the limits of the rule hold again.',
      })
      setAmounts({})
    } catch (error) {
      setDone(failed(error))
    }
    policy.reload()
    setTimeout(onChange, 300)
  }
  return (
    <Panel title="Temporary override" note="other limits for this key alone, with an end">
      {override !== null && (
        <p>
          {isExpired ? 'An override has expired: ' : 'In force now: '}
          {shortText(override.limits)}
          {override.until !== undefined && (
            <span class="soft">
              {isExpired ? ', it ended ' : ', until '}
              {isExpired ? (
                <RelativeTime atMs={new Date(override.until).getTime()} />
              ) : (
                formatMoment(new Date(override.until).getTime())
              )}
            </span>
          )}{' '}
          <button class="button" type="button" disabled={readOnly !== null} onClick={() => ask('remove')}>
            Remove …
          </button>
        </p>
      )}
      {readOnly && <Notice kind="info">Overrides cannot be set here. {readOnly}</Notice>}
      <DoneNotice done={done}>{done?.kind === 'good' && <a href={linkTo(['policy'])}>See the policy</a>}</DoneNotice>
      <form
        class="override"
        onSubmit={(event) => {
          event.preventDefault()
          void ask('set')
        }}
      >
        <fieldset disabled={readOnly !== null}>
          <legend class="visually-hidden">Other limits</legend>
          {fields.map(({ id, label, amount }) => (
            <label key={id}>
              <span>{label}</span>
              <input
                class="input"
                type="number"
                min={0}
                step={1}
                required
                value={amounts[id] ?? String(amount)}
                onInput={(event) => setAmounts({ ...amounts, [id]: event.currentTarget.value })}
              />
            </label>
          ))}
          <Length value={length} onChange={setLength} />
          <button class="button" type="submit" disabled={!isChanged}>
            Override …
          </button>
        </fieldset>
      </form>
      {asked && (
        <Confirm
          title={asked.verb === 'set' ? 'Override the limits of this key?' : 'Remove the override of this key?'}
          action={asked.verb === 'set' ? 'Override' : 'Remove'}
          onConfirm={confirm}
          onClose={() => setAsked(undefined)}
        >
          <p>
            <code>{inspection.key}</code>
          </p>
          {asked.verb === 'set' && (
            <p>
              Now {shortText(limitsOf(inspection, {}))}. Until {formatMoment(Date.parse(until))}:{' '}
              <b>{shortText(limitsOf(inspection, amounts))}</b>.
            </p>
          )}
          <p>The policy is pushed to every replica as a new version, on top of version {asked.version}.</p>
        </Confirm>
      )}
    </Panel>
  )
}
