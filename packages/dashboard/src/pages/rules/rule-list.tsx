import { useMemo } from 'preact/hooks'
import type { Rules } from '../../api/shapes.ts'
import { useApi } from '../../api/use-api.ts'
import { Panel } from '../../components/panel.tsx'
import { SearchField } from '../../components/search-field.tsx'
import { EmptyState, ErrorState, Loading } from '../../components/states.tsx'
import { linkTo, useQuery } from '../../hooks/router.ts'
import { type RuleSort, sortedRules } from './rule-figures.ts'
import { RuleTable } from './rule-table.tsx'

/** Rows that are drawn at once; with more rules the rest comes by a button, so that typing stays smooth. */
const rowsAtOnce = 100

export function RuleList() {
  const { data, error, reload } = useApi<Rules>('/v1/rules', 5000)
  const [sort, setSort] = useQuery('sort', 'denied')
  const [search, setSearch] = useQuery('search', '')
  const [rows, setRows] = useQuery('rows', String(rowsAtOnce))
  const found = useMemo(() => {
    const matching = (data?.rules ?? []).filter(({ name }) => name.toLowerCase().includes(search.toLowerCase()))
    return sortedRules(matching, sort as RuleSort)
  }, [data, sort, search])
  if (data === undefined) return error ? <ErrorState error={error} retry={reload} /> : <Loading what="rules" />
  const shown = found.slice(0, Number(rows) || rowsAtOnce)
  return (
    <>
      <div class="rules-head">
        <h1 class="page-title">Rules</h1>
        <SearchField
          label="Search rules"
          placeholder="Search rules"
          value={search}
          onChange={setSearch}
          class="rules-search"
        />
      </div>
      <Panel title={countWords(found.length, data.rules.length)} note={noteOf(data)}>
        {found.length === 0 ? (
          <Nothing hasRules={data.rules.length > 0} />
        ) : (
          <RuleTable rules={shown} sort={sort} onSort={setSort} isFull />
        )}
        {found.length > shown.length && (
          <div class="state">
            <button class="button" type="button" onClick={() => setRows(String(shown.length + 5 * rowsAtOnce))}>
              Show more of {found.length}
            </button>
          </div>
        )}
      </Panel>
    </>
  )
}

function countWords(found: number, all: number): string {
  return found === all ? `${all} rule${all === 1 ? '' : 's'}` : `${found} of ${all} rules`
}

function noteOf({ replicas, rules }: Rules): string {
  const partial = replicas > 1 && rules.length > 60 ? '; other replicas report their 60 busiest rules' : ''
  return `last 15 minutes of ${replicas} replica${replicas === 1 ? '' : 's'}${partial}`
}

function Nothing({ hasRules }: { readonly hasRules: boolean }) {
  if (hasRules) return <EmptyState title="No rule has this in its name" />
  return (
    <EmptyState title="The policy has no rules" text="So nothing is limited.">
      <a class="button" href={linkTo(['policy'])}>
        Write one
      </a>
    </EmptyState>
  )
}
