import type { Issue } from './editor/create-editor.ts'
import type { Checked } from './use-checked.ts'

/** Below the editor: whether the text is valid, or every mistake in the words of the command line. */
export function CheckedLine({ checked, onGo }: { readonly checked: Checked; readonly onGo: (line: number) => void }) {
  return (
    <div class={checked.isOld ? 'checked checked-old' : 'checked'} aria-busy={checked.isOld}>
      <Found checked={checked} onGo={onGo} />
    </div>
  )
}

function Found({ checked, onGo }: { readonly checked: Checked; readonly onGo: (line: number) => void }) {
  switch (checked.state) {
    case 'checking':
      return <p class="soft">Checking …</p>
    case 'failed':
      return <p role="alert">It could not be checked: {checked.error.message}</p>
    case 'good': {
      const { rules, upstreams, warnings } = checked.outcome
      const counts = [countOf(rules, 'rule'), ...(upstreams.length > 0 ? [countOf(upstreams, 'upstream')] : [])]
      return (
        <div role="status">
          <p>
            <span class="good-mark" aria-hidden="true">
              ✓
            </span>{' '}
            No mistakes: {counts.join(', ')}
          </p>
          {warnings.map((warning) => (
            <p key={warning}>
              <b aria-hidden="true">!</b> {warning}
            </p>
          ))}
        </div>
      )
    }
    case 'mistakes':
      return (
        <div role="status">
          <p>
            <span class="deny" aria-hidden="true">
              ✕
            </span>{' '}
            {checked.issues.length === 1 ? 'One mistake' : `${checked.issues.length} mistakes`}
          </p>
          <ul class="mistakes">
            {checked.issues.slice(0, 20).map((issue) => (
              <Mistake key={`${issue.path} ${issue.message}`} issue={issue} onGo={onGo} />
            ))}
          </ul>
        </div>
      )
  }
}

function Mistake({ issue, onGo }: { readonly issue: Issue; readonly onGo: (line: number) => void }) {
  const { path, message, range } = issue
  return (
    <li>
      {range && (
        <button class="button line-button" type="button" onClick={() => onGo(range.line)}>
          line {range.line}
        </button>
      )}
      <span>
        {!path.startsWith('line ') && <code>{path === '' ? 'the document' : path}</code>} {message}
      </span>
    </li>
  )
}

function countOf(things: readonly unknown[], name: string): string {
  return `${things.length} ${name}${things.length === 1 ? '' : 's'}`
}
