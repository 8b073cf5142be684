import { useAnswer } from '../../api/use-api.ts'
import { Notice } from '../../components/notice.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { ErrorState, Loading } from '../../components/states.tsx'
import type { PageProps } from '../../hooks/router.ts'
import { linkTo } from '../../hooks/router.ts'
import { Editing } from './editing.tsx'
import { History } from './history.tsx'
import { type Loaded, loadPolicy } from './load-policy.ts'
import '../../styles/operate.css'
import './policy.css'

const lookEveryMs = 5000

/** The policy: edit, check, try, publish, and go back. */
export default function PolicyPage({ route }: PageProps) {
  const { data: loaded, error, reload } = useAnswer<Loaded>('/v1/policy', lookEveryMs, loadPolicy)
  if (loaded === undefined) return error ? <ErrorState error={error} retry={reload} /> : <Loading what="policy" />
  const { policy, atMs } = loaded
  const tab = route.path[1] === 'history' ? 'history' : 'edit'
  return (
    <>
      <div class="policy-head">
        <h1 class="page-title">Policy</h1>
        <p class="soft small policy-facts">
          {policy.service} · version <span class="mono">{policy.version}</span>
          {policy.revision !== null && <> · revision {policy.revision}</>} · loaded{' '}
          <RelativeTime atMs={atMs - policy.ageMs} /> · from {policy.source}
        </p>
        <nav class="tabs" aria-label="Policy">
          <a href={linkTo(['policy'])} aria-current={tab === 'edit' ? 'page' : undefined}>
            Edit
          </a>
          <a href={linkTo(['policy', 'history'])} aria-current={tab === 'history' ? 'page' : undefined}>
            History
          </a>
        </nav>
      </div>
      {error && <Notice kind="warn">{error.message} What stands here is older.</Notice>}
      {policy.lastError !== null && <Notice kind="bad">The newest policy is not in force: {policy.lastError}</Notice>}
      {policy.readOnly !== null && (
        <Notice kind="info">The policy can be tried here, but not published. {policy.readOnly}</Notice>
      )}
      {/* The editor stays while the history is looked at: its text and what can be undone are kept. */}
      <div hidden={tab !== 'edit'} class="policy-tab">
        <Editing loaded={loaded} reload={reload} />
      </div>
      {tab === 'history' && <History loaded={loaded} reload={reload} />}
    </>
  )
}
