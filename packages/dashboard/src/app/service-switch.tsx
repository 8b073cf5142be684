import type { Services } from '../api/shapes.ts'
import { useApi } from '../api/use-api.ts'
import { visible } from '../format/key.ts'
import { goTo, linkTo } from '../hooks/router.ts'
import { useValue } from '../hooks/value.ts'
import { live } from '../live/live.ts'
import { otherService } from './pages.ts'

/** The service that is shown; where several report, a choice of them. */
export function ServiceSwitch({ path }: { readonly path: readonly string[] }) {
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
