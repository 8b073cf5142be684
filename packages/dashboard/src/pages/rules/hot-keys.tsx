import type { HotKey } from '../../api/page-types.ts'
import { linkTo } from '../../app/router.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { EmptyState } from '../../components/states.tsx'
import { formatNumber } from '../../format/number.ts'
import { keyParts } from '../overview/words.ts'

/**
 * Keys with a bar for each. Counted in bounded memory, a count may be too high by `error`: what is shown is what is
 * certain, and keys of which nothing is certain are left out.
 */
export function HotKeys(props: {
  readonly keys: readonly HotKey[]
  readonly empty: string
  readonly kind?: 'deny' | 'allow'
}) {
  const { kind = 'allow' } = props
  if (props.keys.length === 0) return <EmptyState title="None" text={props.empty} />
  const keys = certain(props.keys)
  if (keys.length === 0) return <EmptyState title="No key stands out" text="Many were seen, each a few times." />
  const most = keys[0]!.least
  return (
    <ul class="hot-keys">
      {keys.map(({ key, least, count }) => (
        <li key={key}>
          <span class="hot-key-name">
            <a class="mono" href={linkTo(['keys'], { key })}>
              {keyParts(key) || key}
            </a>
            <CopyButton text={key} what="the key" />
          </span>
          <span class={`meter ${kind === 'deny' ? 'meter-full' : ''}`} aria-hidden="true">
            <span style={{ width: `${(100 * least) / most}%` }} />
          </span>
          <span class="number" title={count > least ? `at most ${formatNumber(count)}` : undefined}>
            {formatNumber(least)}
          </span>
        </li>
      ))}
    </ul>
  )
}

function certain(keys: readonly HotKey[]): (HotKey & { readonly least: number })[] {
  return keys
    .map((each) => ({ ...each, least: each.count - each.error }))
    .filter(({ least }) => least > 0)
    .sort((a, b) => b.least - a.least)
}
