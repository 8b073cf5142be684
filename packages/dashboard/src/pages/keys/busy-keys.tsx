import type { Denials as Answer, Stats } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { Panel } from '../../components/panel.tsx'
import { ErrorState, Loading } from '../../components/states.tsx'
import { Denials } from '../rules/denials.tsx'
import { HotKeys } from '../rules/hot-keys.tsx'
import '../rules/rules.css'

const shown = 10

/** Keys to begin with: who uses most, who is denied most, and the last denials of all processes. */
export function BusyKeys() {
  const stats = useApi<Stats>('/v1/stats?top=10', 4000)
  const denials = useApi<Answer>(`/v1/denials?limit=${2 * shown}`, 2000)
  if (stats.data === undefined)
    return stats.error ? <ErrorState error={stats.error} retry={stats.reload} /> : <Loading />
  return (
    <div class="busy-keys">
      <TopKeys stats={stats.data} />
      <Panel title="Recent denials" note="of all processes that report">
        <Denials denials={denials.data?.denials ?? []} />
      </Panel>
    </div>
  )
}

/** The keys of all rules that are denied, and used, most. */
export function TopKeys({ stats, isOther = false }: { readonly stats: Stats; readonly isOther?: boolean }) {
  const { rules, complete } = stats
  const nobody = (was: string): string =>
    complete ? `No key was ${was} in the last two minutes.` : 'Not known: what processes report cannot be read now.'
  const top = (of: 'hottest' | 'mostDenied') =>
    rules
      .flatMap((rule) => rule[of].map((each) => ({ ...each, rule: rule.rule })))
      .sort((a, b) => b.count - b.error - (a.count - a.error))
      .slice(0, shown)
  return (
    <>
      <Panel title="Most denied keys" note="denials, last minute or two">
        <HotKeys keys={top('mostDenied')} empty={nobody('denied')} kind="deny" isOther={isOther} />
      </Panel>
      <Panel title="Hottest keys" note="units, last minute or two">
        <HotKeys keys={top('hottest')} empty={nobody('used')} isOther={isOther} />
      </Panel>
    </>
  )
}
