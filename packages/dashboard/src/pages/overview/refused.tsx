import type { Overview } from '../../api/shapes.ts'
import { Panel } from '../../components/panel.tsx'
import { EmptyState } from '../../components/states.tsx'
import { keyParts } from '../../format/key.ts'
import { formatNumber, formatRate } from '../../format/number.ts'
import { formatDuration } from '../../format/time.ts'
import { linkTo } from '../../hooks/router.ts'

/** The keys that are denied most, by which limit, and when they would pass. */
export function Refused({ refused, complete }: Pick<Overview, 'refused' | 'complete'>) {
  const { keys, seen } = refused
  const most = keys[0]?.perSecond ?? 1
  const note = `last minute or two, ${keys.length} of ${formatNumber(seen)} key${seen === 1 ? '' : 's'}`
  return (
    <Panel title="Who is being refused" {...(keys.length > 0 ? { note } : {})}>
      {keys.length === 0 && !complete ? (
        <EmptyState title="Not known" text="This process denied no key. What others deny cannot be read now." />
      ) : keys.length === 0 ? (
        <EmptyState title="Nobody" text="No key was denied in the last two minutes." />
      ) : (
        <ul class="refused">
          {keys.map(({ key, rule, limit, perSecond, passesInMs }) => (
            <li key={key}>
              <div class="refused-name">
                <a class="mono" href={linkTo(['keys'], { key })}>
                  {keyParts(key) || key}
                </a>
                <div class="soft small">
                  <a href={linkTo(['rules', rule])}>{rule}</a>
                  {limit && ` · ${limit}`}
                </div>
              </div>
              <span class="bar" aria-hidden="true">
                <span style={{ width: `${Math.max(1, (100 * perSecond) / most)}%` }} />
              </span>
              <span class="number">{formatRate(perSecond)}</span>
              <span class="number soft small passes">{passesWords(passesInMs)}</span>
            </li>
          ))}
        </ul>
      )}
    </Panel>
  )
}

function passesWords(ms: number | null): string {
  if (ms === null) return ''
  return ms === 0 ? 'passes now' : `in ${formatDuration(ms)}`
}
