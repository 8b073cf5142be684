import type { HotKey } from '../../api/shapes.ts'
import { CopyButton } from '../../components/copy-button.tsx'
import { EmptyState } from '../../components/states.tsx'
import { keyParts, visible } from '../../format/key.ts'
import { formatNumber } from '../../format/number.ts'
import { linkTo } from '../../hooks/router.ts'

/** With this few keys all of them are shown, even if they are equal. */
const fewKeys = 5

/**
 * Keys with a bar for each. Counted in bounded memory, a count may be too high by `error`: the guaranteed count is
 * shown, and keys with none are left out.
 */
export function HotKeys(props: {
  /** With the rule of each, where they are of several. */
  readonly keys: readonly (HotKey & { readonly rule?: string })[]
  readonly empty: string
  readonly kind?: 'deny' | 'allow'
  /** The page of a key is only of this daemon's own service. */
  readonly isOther?: boolean
}) {
  const { kind = 'allow', isOther = false } = props
  if (props.keys.length === 0) return <EmptyState title="None" text={props.empty} />
  const keys = certain(props.keys)
  const { above, tied } = outstanding(keys)
  if (above.length === 0) return <EmptyState title="No key stands out" text="Many were seen, each about as often." />
  const most = above[0]!.least
  return (
    <ul class="hot-keys">
      {above.map(({ key, rule, least, count }) => (
        <li key={key}>
          <span class="hot-key-name">
            {isOther ? (
              <span class="mono">{keyParts(key) || key}</span>
            ) : (
              <a class="mono" href={linkTo(['keys'], { key })}>
                {keyParts(key) || key}
              </a>
            )}
            {rule !== undefined && <span class="soft small hot-key-rule">{visible(rule)}</span>}
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
      {tied !== undefined && <li class="soft small">others, {formatNumber(tied)} each</li>}
    </ul>
  )
}

/**
 * The keys with the highest counts, and the count of the others. Where many keys have the same count, it is random
 * which of them are listed, and a list of them would mislead.
 */
export function outstanding<Key extends { readonly least: number }>(
  keys: readonly Key[],
): { readonly above: readonly Key[]; readonly tied: number | undefined } {
  const last = keys.at(-1)?.least ?? 0
  const above = keys.filter(({ least }) => least > last)
  return keys.length - above.length <= fewKeys ? { above: keys, tied: undefined } : { above, tied: last }
}

function certain<Key extends HotKey>(keys: readonly Key[]): (Key & { readonly least: number })[] {
  return keys
    .map((each) => ({ ...each, least: each.count - each.error }))
    .filter(({ least }) => least > 0)
    .sort((a, b) => b.least - a.least)
}
