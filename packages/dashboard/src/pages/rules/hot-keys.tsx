import type { HotKey } from '../../api/page-types.ts'
import { linkTo } from '../../app/router.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { EmptyState } from '../../components/states.tsx'
import { formatNumber } from '../../format/number.ts'
import { keyParts } from '../overview/words.ts'

/** Keys with a bar for each; a count that may be too high says so. */
export function HotKeys(props: {
  readonly keys: readonly HotKey[]
  readonly empty: string
  readonly kind?: 'deny' | 'allow'
}) {
  const { keys, kind = 'allow' } = props
  if (keys.length === 0) return <EmptyState title="None" text={props.empty} />
  const most = keys[0]!.count
  return (
    <ul class="hot-keys">
      {keys.map(({ key, count, error }) => (
        <li key={key}>
          <span class="hot-key-name">
            <a class="mono" href={linkTo(['keys'], { key })}>
              {keyParts(key) || key}
            </a>
            <CopyButton text={key} what="the key" />
          </span>
          <span class={`meter ${kind === 'deny' ? 'meter-full' : ''}`} aria-hidden="true">
            <span style={{ width: `${(100 * count) / most}%` }} />
          </span>
          <span class="number" title={error > 0 ? `at least ${formatNumber(count - error)}` : undefined}>
            {error > 0 ? '≤ ' : ''}
            {formatNumber(count)}
          </span>
        </li>
      ))}
    </ul>
  )
}
