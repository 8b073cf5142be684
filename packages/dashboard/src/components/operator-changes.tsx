import type { AuditEntry } from '../api/shapes.ts'
import { Panel } from './panel.tsx'
import { RelativeTime } from './relative-time.tsx'

/** What operators can do, in words. */
export const changeWords: Readonly<Record<AuditEntry['what'], string>> = {
  'policy.push': 'Published',
  'policy.rollback': 'Rolled back',
  'override.set': 'Override set',
  'override.remove': 'Override removed',
  'key.reset': 'Reset',
  'key.block': 'Blocked',
  'key.unblock': 'Unblocked',
  'part.action': 'Action on a part',
}

/** What operators did to one key through this daemon. */
export function OperatorChanges({ entries }: { readonly entries: readonly AuditEntry[] }) {
  if (entries.length === 0) return null
  return (
    <Panel title="Changes by operators" note="through this daemon, since it started">
      <ul class="feed">
        {entries.map(({ id, what, when, who }) => (
          <li key={id}>
            {changeWords[what]}
            <div class="soft small">
              <RelativeTime atMs={Date.parse(when)} /> · by {who.name} from {who.address}
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  )
}
