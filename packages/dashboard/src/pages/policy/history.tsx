import { useState } from 'preact/hooks'
import { api } from '../../api/api.ts'
import type { Difference, PolicyVersions } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { type Done, DoneNotice, failed } from '../../components/notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState, ErrorState, Loading } from '../../components/states.tsx'
import { formatMoment } from '../../format/time.ts'
import { Differences } from './differences.tsx'
import type { Loaded } from './load-policy.ts'

/** Former versions, who published them, and how to restore one. */
export function History({ loaded, reload }: { readonly loaded: Loaded; readonly reload: () => void }) {
  const versions = useApi<PolicyVersions>('/v1/policy/versions?limit=50')
  const [asked, setAsked] = useState<{ revision: number; etag: string; differences: readonly Difference[] }>()
  const [done, setDone] = useState<Done>()
  const ask = async (revision: number): Promise<void> => {
    setDone(undefined)
    try {
      const body = { revision }
      const { differences } = await api<{ differences: readonly Difference[] | null }>(
        'POST',
        '/v1/policy/rollback?dryRun=true',
        { body },
      )
      setAsked({ revision, etag: loaded.etag, differences: differences ?? [] })
    } catch (error) {
      setDone(failed(error))
    }
  }
  const rollBack = async (): Promise<void> => {
    try {
      const { revision, etag } = asked!
      const pushed = await api<{ revision: number }>('POST', '/v1/policy/rollback', {
        body: { revision },
        headers: { 'if-match': etag },
      })
      setDone({ kind: 'good', text: `Revision ${revision} is published again, as revision ${pushed.revision}.` })
    } catch (error) {
      setDone(failed(error))
    }
    versions.reload()
    reload()
  }
  if (versions.error?.status === 409) return <EmptyState title="There is no history" text={versions.error.message} />
  if (versions.error) return <ErrorState error={versions.error} retry={versions.reload} />
  if (versions.data === undefined) return <Loading what="history" />
  const list = versions.data.versions
  return (
    <>
      <DoneNotice done={done} />
      <Panel title="Versions" note={list.length < 50 ? 'newest first' : 'the newest 50'}>
        {list.length === 0 ? (
          <EmptyState
            title="Nothing was published yet"
            text="What runs came from the source itself. It is kept as the first version when something is published."
          />
        ) : (
          <ul class="versions">
            {list.map(({ revision, createdAt, summary, who }, i) => (
              <li key={revision}>
                <div>
                  <strong>revision {revision}</strong> {i === 0 && <span class="chip">newest</span>}
                  <div class="small version-summary">{summary}</div>
                  <div class="soft small">
                    <RelativeTime atMs={Date.parse(createdAt)} /> · {formatMoment(Date.parse(createdAt))}
                    {who && ` · by ${who.name} from ${who.address}`}
                  </div>
                </div>
                {i > 0 && (
                  <button
                    class="button"
                    type="button"
                    disabled={loaded.policy.readOnly !== null}
                    onClick={() => ask(revision)}
                  >
                    Roll back …
                  </button>
                )}
              </li>
            ))}
          </ul>
        )}
      </Panel>
      {asked && (
        <Confirm
          title={`Go back to revision ${asked.revision}?`}
          action="Roll back"
          onConfirm={rollBack}
          onClose={() => setAsked(undefined)}
        >
          {asked.differences.length > 0 ? (
            <>
              <p>Compared with what runs, it changes:</p>
              <Differences differences={asked.differences} />
            </>
          ) : (
            <p>It says the same as what runs.</p>
          )}
        </Confirm>
      )}
    </>
  )
}
