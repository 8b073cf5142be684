import { Panel } from '../../components/panel.tsx'
import { RelativeTime } from '../../components/relative-time.tsx'
import { EmptyState } from '../../components/states.tsx'
import type { Happening } from '../../live/entries.ts'
import { happeningWords } from './words.ts'

const shown = 8

/** What happened in the last 15 minutes, the newest first. */
export function Events(props: { readonly happenings: readonly Happening[]; readonly store: string }) {
  const newest = props.happenings.toReversed().slice(0, shown)
  return (
    <Panel title="Events" note="15 minutes">
      {newest.length === 0 ? (
        <EmptyState title="Nothing happened" text="New policies and outages of the store will stand here." />
      ) : (
        <ul class="feed">
          {newest.map((each) => {
            const { title, note } = happeningWords(each, props.store)
            return (
              <li key={`${each.kind} ${each.at}`}>
                {title}
                <div class="soft small">
                  <RelativeTime atMs={each.at * 1000} />
                  {note && ` · ${note}`}
                </div>
              </li>
            )
          })}
        </ul>
      )}
    </Panel>
  )
}
