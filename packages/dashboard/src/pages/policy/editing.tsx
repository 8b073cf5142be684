import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, apiAnswer } from '../../api/api.ts'
import { Confirm } from '../../components/confirm.tsx'
import { CopyButton } from '../../components/copy-button.tsx'
import { type Done, DoneNotice, Notice } from '../../components/notice.tsx'
import { Panel } from '../../components/panel.tsx'
import { CheckedLine } from './checked-line.tsx'
import { Differences } from './differences.tsx'
import type { Editor, Issue } from './editor/create-editor.ts'
import { PolicyEditor } from './editor/policy-editor.tsx'
import { type Loaded, loadPolicy } from './load-policy.ts'
import { Trial } from './trial.tsx'
import { useChecked } from './use-checked.ts'

const noIssues: readonly Issue[] = []

/** Edits a policy on top of the one that was read, and notices when another operator publishes meanwhile. */
export function Editing({ loaded, reload }: { readonly loaded: Loaded; readonly reload: () => void }) {
  const [draft] = useState(keptDraft)
  const [base, setBase] = useState<Pick<Draft, 'etag' | 'text'>>({
    etag: draft?.etag ?? loaded.etag,
    text: loaded.policy.text ?? '',
  })
  const [text, setText] = useState(draft?.text ?? loaded.policy.text ?? '')
  const [isAsked, setAsked] = useState(false)
  const [isCompared, setCompared] = useState(false)
  const [done, setDone] = useState<Done>()
  const editor = useRef<Editor>(null)
  const checked = useChecked(text, loaded.policy.version)
  const isChanged = text !== (loaded.policy.text ?? '')
  const isConflict = base.etag !== loaded.etag
  const { readOnly } = loaded.policy

  useEffect(() => {
    if (base.etag === loaded.etag) return
    // There are no edits yet: the new policy is simply shown.
    if (text === base.text || text === loaded.policy.text) takeOver(loaded)
  }, [loaded.etag])
  useEffect(() => keepDraft(text === loaded.policy.text ? undefined : { text, etag: base.etag }), [text, base.etag])

  const takeOver = (next: Loaded): void => {
    setBase({ etag: next.etag, text: next.policy.text ?? '' })
    if (editor.current && editor.current.text !== next.policy.text) editor.current.replace(next.policy.text ?? '')
  }
  const publish = async (): Promise<void> => {
    try {
      const sent = text
      const { body, headers } = await apiAnswer<{ version: string; revision: number }>('PUT', '/v1/policy', {
        body: sent,
        headers: { 'if-match': base.etag },
      })
      setDone({ kind: 'good', text: `Published as revision ${body.revision}, version ${body.version}.` })
      const next = await inForce(body)
      // Another operator may have published right after: then this text is based on the one that was just pushed.
      if (next.policy.revision === body.revision) takeOver(next)
      else setBase({ etag: headers.get('etag') ?? '', text: sent })
    } catch (error) {
      // The text stays, and the other policy is fetched for comparison.
      if (!(error instanceof ApiError) || error.status !== 412) setDone({ kind: 'bad', text: (error as Error).message })
    }
    reload()
  }
  const issues = checked.state === 'mistakes' ? checked.issues : noIssues
  const canPublish = readOnly === null && checked.state === 'good' && !checked.isOld && isChanged && !isConflict
  return (
    <>
      {isConflict && !isAsked && text !== base.text && (
        <Conflict
          theirs={loaded}
          onContinue={() => {
            setBase({ etag: loaded.etag, text: loaded.policy.text ?? '' })
            setCompared(true)
          }}
          onTakeTheirs={() => takeOver(loaded)}
        />
      )}
      <DoneNotice done={done} />
      <Panel
        title="Document"
        note={isChanged ? 'changed, not published' : 'as it runs'}
        actions={
          <>
            <CopyButton text={text} what="the policy" />
            <button class="button" type="button" disabled={!isChanged} onClick={() => takeOver(loaded)}>
              Discard
            </button>
            <button class="button button-primary" type="button" disabled={!canPublish} onClick={() => setAsked(true)}>
              Publish …
            </button>
          </>
        }
      >
        <PolicyEditor
          initial={text}
          readOnly={false}
          issues={issues}
          original={isCompared ? (loaded.policy.text ?? '') : undefined}
          onChange={(next) => {
            setText(next)
            setDone(undefined)
          }}
          onReady={(made) => {
            editor.current = made
          }}
        />
        <CheckedLine checked={checked} onGo={(line) => editor.current?.goTo(line)} />
      </Panel>
      <Panel
        title="Difference to what runs"
        note={differenceNote(checked)}
        actions={
          <label class="compare">
            <input
              type="checkbox"
              checked={isCompared}
              onChange={(event) => setCompared(event.currentTarget.checked)}
            />{' '}
            in the text
          </label>
        }
      >
        {checked.state === 'good' && checked.outcome.differences && checked.outcome.differences.length > 0 ? (
          <Differences differences={checked.outcome.differences} />
        ) : (
          <p class="soft">
            {checked.state !== 'good'
              ? 'Shown once the text has no mistakes.'
              : isChanged
                ? 'Only comments, spacing or order differ.'
                : 'None.'}
          </p>
        )}
      </Panel>
      <Trial text={text} isGood={checked.state === 'good' && !checked.isOld} />
      {isAsked && (
        <Confirm title="Publish this policy?" action="Publish" onConfirm={publish} onClose={() => setAsked(false)}>
          <p>
            Every replica that reads {loaded.policy.source} takes it up. The version that runs now can be rolled back
            to.
          </p>
          {checked.state === 'good' && checked.outcome.differences && (
            <Differences differences={checked.outcome.differences} />
          )}
        </Confirm>
      )}
    </>
  )
}

function differenceNote(checked: ReturnType<typeof useChecked>): string {
  const count = checked.state === 'good' ? (checked.outcome.differences?.length ?? 0) : 0
  return count === 0 ? 'by rules and fields' : `${count} ${count === 1 ? 'place' : 'places'}`
}

/** A pushed policy takes a moment to come into force, as the source is followed. */
async function inForce(pushed: { readonly version: string; readonly revision: number }): Promise<Loaded> {
  for (let i = 0; ; i++) {
    const next = await loadPolicy()
    const isThere = next.policy.version === pushed.version && next.policy.revision === pushed.revision
    if (isThere || i === 20 || (next.policy.revision ?? 0) > pushed.revision) return next
    await new Promise((resolve) => setTimeout(resolve, 250))
  }
}

/** A text that was changed and not published, and what it was made from. */
interface Draft {
  readonly text: string
  /** The ETag of the policy it was made from. */
  readonly etag: string
}

const place = 'sluice-policy-draft'

/** Kept while the tab is open, so that an accidental reload loses nothing. */
function keepDraft(draft: Draft | undefined): void {
  try {
    if (draft === undefined) sessionStorage.removeItem(place)
    else sessionStorage.setItem(place, JSON.stringify(draft))
  } catch {
    // A browser without storage, or a text that is too long: the page itself still has it.
  }
}

function keptDraft(): Draft | undefined {
  try {
    const draft = JSON.parse(sessionStorage.getItem(place) ?? 'null') as Draft | null
    return typeof draft?.text === 'string' && typeof draft.etag === 'string' ? draft : undefined
  } catch {
    return undefined
  }
}

/** Another operator published while this text was written. The reader decides, and nothing is lost. */
function Conflict(props: {
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
          onConfirm={props.onTakeTheirs}
          onClose={() => setAsked(false)}
        >
          <p>What you wrote can be brought back with undo (Ctrl+Z) while this page stays open.</p>
        </Confirm>
      )}
    </Notice>
  )
}
