import type { Rules } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { Panel } from '../../components/panel.tsx'
import { ErrorState, Loading } from '../../components/states.tsx'
import { linkTo } from '../../hooks/router.ts'
import { sortedRules } from '../rules/rule-figures.ts'
import { RuleTable } from '../rules/rule-table.tsx'

const shown = 6

/** The rules that deny most, and then those that decide most. */
export function BusiestRules() {
  const { data, error, reload } = useApi<Rules>('/v1/rules', 5000)
  if (data === undefined) return error ? <ErrorState error={error} retry={reload} /> : <Loading what="rules" />
  const all = <a href={linkTo(['rules'])}>All rules ({data.rules.length})</a>
  return (
    <Panel title="Rules" note="by denials, last 15 minutes" actions={<span class="small">{all}</span>}>
      <RuleTable rules={sortedRules(data.rules, 'denials').slice(0, shown)} />
    </Panel>
  )
}
