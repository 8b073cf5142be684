import { signOut } from '../api/sign-in.ts'
import { pages } from './pages.ts'
import { linkTo } from './router.ts'

/** The name, the pages, and on the right what is shown: service, policy, and whether it is live. */
export function Header({ current }: { readonly current: string | undefined }) {
  return (
    <header class="header">
      <a class="logo" href={linkTo([])}>
        Sluice
      </a>
      <nav class="nav" aria-label="Main">
        {pages.map(({ segment, title }) => (
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
        <button type="button" class="copy" onClick={() => void signOut().catch(() => {})}>
          Sign out
        </button>
      </div>
    </header>
  )
}
