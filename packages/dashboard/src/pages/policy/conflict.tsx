import { useState } from 'preact/hooks'
import { Confirm } from '../../components/confirm.tsx'
import { Notice } from '../../components/notice.tsx'
import type { Loaded } from './load-policy.ts'

/** Another operator published while this text was written. The reader decides, and nothing is lost. */
export function Conflict(props: {
  readonly theirs: Loaded
  readonly onContinue: () => void
  readonly onTakeTheirs: () => void
}) {
  const [isAsked, setAsked] = useState(false)
  const { version, revision } = props.theirs.policy
  return (
    <Notice kind="warn" live>
      <strong>Somebody else has changed the policy while you were writing.</strong>
      <p>
        Version <span class="mono">{version}</span>
        {revision !== null && <>, revision {revision},</>} is in force now. Your text is kept and was not published.
      </p>
      <div class="conflict-actions">
        <button class="button" type="button" onClick={props.onContinue}>
          Compare with theirs and go on
        </button>
        <button class="button" type="button" onClick={() => setAsked(true)}>
          Take theirs …
        </button>
      </div>
      {isAsked && (
        <Confirm
          title="Replace your text by theirs?"
          action="Take theirs"
          onConfirm={() => {
            setAsked(false)
            props.onTakeTheirs()
          }}
          onCancel={() => setAsked(false)}
        >
          <p>What you wrote can be brought back with undo (Ctrl+Z) while this page stays open.</p>
        </Confirm>
      )}
    </Notice>
  )
}
