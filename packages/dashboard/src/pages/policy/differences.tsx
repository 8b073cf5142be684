import type { Difference } from '../../api/shapes.ts'

const signs = { added: '+', removed: '−', changed: '~' }
const mostShown = 100

/** What differs, rule by rule; the order of rules and fields is no difference. */
export function Differences({ differences }: { readonly differences: readonly Difference[] }) {
  return (
    <ul class="differences">
      {differences.slice(0, mostShown).map(({ path, kind, before, after }) => (
        <li key={path} class={`difference-${kind}`}>
          <span class="difference-sign" aria-hidden="true">
            {signs[kind]}
          </span>
          <div>
            <span class="visually-hidden">{kind}: </span>
            <code>{path}</code>{' '}
            {kind === 'changed' ? (
              <span class="mono">
                <del>{shown(before)}</del> → <ins>{shown(after)}</ins>
              </span>
            ) : (
              <span class="mono soft">{shown(kind === 'added' ? after : before)}</span>
            )}
          </div>
        </li>
      ))}
      {differences.length > mostShown && <li class="soft">and {differences.length - mostShown} more</li>}
    </ul>
  )
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length <= 160 ? text : `${text.slice(0, 157)}...`
}
