import { person } from '../api/session.ts'
import type { Services } from '../api/shapes.ts'
import { signOut } from '../api/sign-in.ts'
import { useApi } from '../api/use-api.ts'
import { visible } from '../format/key.ts'
import { goTo, linkTo } from '../hooks/router.ts'
import { useValue } from '../hooks/value.ts'
import { live } from '../live/live.ts'
import { otherService, pages } from './pages.ts'

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

/** The service that is shown; where several report, a choice of them. */
function ServiceSwitch({ path }: { readonly path: readonly string[] }) {
  const hello = useValue(live.hello)
  const { data } = useApi<Services>('/v1/services', 10_000)
  const own = data?.service ?? hello?.service
  if (own === undefined) return null
  const chosen = path[0] === otherService.segment ? path[1] : undefined
  // One that has gone stays while it is shown.
  const others = (data?.services ?? []).filter((each) => each !== own && each !== chosen)
  if (others.length === 0 && chosen === undefined)
    return (
      <span class="pill wide-only" title="The service whose policy this daemon enforces">
        {visible(own)}
      </span>
    )
  const view = path.at(-1) === 'parts' ? ['parts'] : []
  return (
    <select
      class="input service-switch"
      aria-label="Service"
      value={chosen ?? own}
      onChange={({ currentTarget: { value } }) =>
        goTo(linkTo(value === own ? view : [otherService.segment, value, ...view]))
      }
    >
      <option value={own}>{visible(own)}</option>
      {[...(chosen === undefined || chosen === own ? [] : [chosen]), ...others].map((each) => (
        <option key={each} value={each}>
          {visible(each)}
        </option>
      ))}
    </select>
  )
}
