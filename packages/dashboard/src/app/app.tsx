import '../styles/operate.css'
import { useEffect } from 'preact/hooks'
import { person, useSession } from '../api/session.ts'
import { checkSession, resumeSession } from '../api/sign-in.ts'
import { Notice } from '../components/notice.tsx'
import { EmptyState, Loading } from '../components/states.tsx'
import { useRoute } from '../hooks/router.ts'
import { useValue } from '../hooks/value.ts'
import { followLive, live } from '../live/live.ts'
import { Header } from './header.tsx'
import { LazyPage } from './lazy-page.tsx'
import { otherService, pages } from './pages.ts'
import { SignIn } from './sign-in.tsx'

export function App() {
  const route = useRoute()
  const session = useSession()
  const entry = [...pages, otherService].find(({ segment }) => segment === (route.path[0] ?? ''))
  useEffect(() => {
    document.title = `${[...route.path.slice(1), entry?.title ?? 'Not found'].join(' · ')} · Sluice`
  }, [entry, route.path.join('/')])
  useEffect(() => void resumeSession(), [])
  useEffect(() => {
    // A stream that was refused may mean that the session has ended; a request shows whether it has.
    return session === 'signed-in' ? followLive(checkSession) : undefined
  }, [session])
  if (session === 'unknown') return <Loading />
  if (session !== 'signed-in') return <SignIn why={session} />
  return (
    <>
      <button type="button" class="button skip" onClick={() => document.getElementById('main')?.focus()}>
        Skip to content
      </button>
      <Header path={route.path} />
      <main class="page" id="main" tabIndex={-1}>
        <ProxyNotice />
        {entry === undefined ? (
          <EmptyState title="There is no such page" text="The address may be of another version of Sluice." />
        ) : (
          <LazyPage key={entry.segment} entry={entry} route={route} />
        )}
      </main>
    </>
  )
}

/** What a proxy in front of the daemon should do and does not, with the line for nginx. */
function ProxyNotice() {
  const isHeld = useValue(live.connection) === 'held'
  const { secure } = useValue(person)
  return (
    <>
      {isHeld && (
        <Notice kind="warn" live>
          The daemon answers, but its live data does not arrive: a proxy in front holds it back. Let it pass on what
          comes at once; for nginx: <code>proxy_buffering off;</code>
        </Notice>
      )}
      {location.protocol === 'https:' && !secure && (
        <Notice kind="warn">
          The proxy in front does not say that it has TLS, so the browser would also send your session without it. For
          nginx: <code>proxy_set_header X-Forwarded-Proto $scheme;</code>
        </Notice>
      )}
    </>
  )
}
