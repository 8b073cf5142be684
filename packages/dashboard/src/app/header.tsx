import { person } from '../api/session.ts'
import { signOut } from '../api/sign-in.ts'
import { linkTo } from '../hooks/router.ts'
import { useValue } from '../hooks/value.ts'
import { live } from '../live/live.ts'
import { otherService, pages } from './pages.ts'
import { ServiceSwitch } from './service-switch.tsx'

const states = {
  live: { dot: '', text: 'live' },
  connecting: { dot: 'dot-waiting', text: 'connecting' },
  held: { dot: 'dot-bad', text: 'no live data' },
  lost: { dot: 'dot-bad', text: 'connection lost, trying again' },
}

/** The name, the pages, and on the right the service and whether the data is live. */
export function Header({ path }: { readonly path: readonly string[] }) {
  const { role } = useValue(person)
  const { dot, text } = states[useValue(live.connection)]
  const [current = '', service] = path
  const links =
    current === otherService.segment && service !== undefined
      ? serviceLinks(service, path[2])
      : pages
          .filter(({ forAdmins }) => !forAdmins || role === 'admin')
          .map(({ segment, title }) => ({
            title,
            link: linkTo(segment === '' ? [] : [segment]),
            isCurrent: segment === current,
          }))
  return (
    <header class="header">
      <a class="logo" href={linkTo([])}>
        Sluice
      </a>
      <nav class="nav" aria-label="Main">
        {links.map(({ title, link, isCurrent }) => (
          <a key={title} href={link} aria-current={isCurrent ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <div class="header-right">
        <ServiceSwitch path={path} />
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

function serviceLinks(service: string, view: string | undefined) {
  return ['Overview', 'Parts'].map((title) => {
    const segments = title === 'Overview' ? [] : [title.toLowerCase()]
    const link = linkTo([otherService.segment, service, ...segments])
    return { title, link, isCurrent: segments[0] === view }
  })
}
