import { person } from '../api/session.ts'
import { signOut } from '../api/sign-in.ts'
import { linkTo } from '../hooks/router.ts'
import { useValue } from '../hooks/value.ts'
import { live } from '../live/live.ts'
import { pages } from './pages.ts'

const states = {
  live: { dot: '', text: 'live' },
  connecting: { dot: 'dot-waiting', text: 'connecting' },
  held: { dot: 'dot-bad', text: 'no live data' },
  lost: { dot: 'dot-bad', text: 'connection lost, trying again' },
}

/** The name, the pages, and on the right the service and whether the data is live. */
export function Header({ current }: { readonly current: string | undefined }) {
  const hello = useValue(live.hello)
  const { role } = useValue(person)
  const { dot, text } = states[useValue(live.connection)]
  return (
    <header class="header">
      <a class="logo" href={linkTo([])}>
        Sluice
      </a>
      <nav class="nav" aria-label="Main">
        {pages
          .filter(({ forAdmins }) => !forAdmins || role === 'admin')
          .map(({ segment, title }) => (
            <a
              key={segment}
              href={linkTo(segment === '' ? [] : [segment])}
              aria-current={segment === current ? 'page' : undefined}
            >
              {title}
            </a>
          ))}
      </nav>
      <div class="header-right">
        {hello && (
          <span class="pill wide-only" title="The service whose policy this daemon enforces">
            {hello.service}
          </span>
        )}
        <span class="pill" role="status">
          <span class={`dot ${dot}`} aria-hidden="true" />
          {text}
        </span>
        <button type="button" class="copy" onClick={() => void signOut().catch(() => {})}>
          Sign out
        </button>
      </div>
    </header>
  )
}
