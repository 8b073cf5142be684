import { useState } from 'preact/hooks'
import { api } from '../../api/api.ts'
import { keyPath } from '../../api/key-path.ts'
import type { Inspection } from '../../api/shapes.ts'
import { Confirm } from '../../components/confirm.tsx'
import { type Done, failed } from '../../components/notice.tsx'
import { Length } from './length.tsx'

interface Props {
  readonly inspection: Inspection
  readonly readable: string
  readonly onDone: (done: Done) => void
}

const titles = { reset: 'Reset', block: 'Block', unblock: 'Unblock' }
type Action = keyof typeof titles

/** What admins can do to a bucket at once: reset it, block it for a while, and end that. */
export function KeyActions({ inspection, readable, onDone }: Props) {
  const [asked, setAsked] = useState<Action>()
  const [length, setLength] = useState('900000')
  const isBlocked = inspection.limits.some(({ block }) => block)
  const offered: readonly Action[] = [
    'reset',
    'block',
    // Without its limits it is not known whether it is blocked.
    ...(isBlocked || inspection.tierUnknown ? (['unblock'] as const) : []),
  ]
  const confirm = async (action: Action): Promise<void> => {
    onDone(await act(action, readable, Number(length)).then((text): Done => ({ kind: 'good', text }), failed))
  }
  return (
    <>
      {offered.map((action) => (
        <button key={action} class="button" type="button" onClick={() => setAsked(action)}>
          {titles[action]} …
        </button>
      ))}
      {asked && (
        <Confirm
          title={`${titles[asked]} this key?`}
          action={titles[asked]}
          onConfirm={() => confirm(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            <code>{inspection.key}</code>
          </p>
          {asked === 'reset' && (
            <p>
              It forgets {usedText(inspection)}. Its next requests start with the whole limits. This cannot be taken
              back.
            </p>
          )}
          {asked === 'block' && (
            <>
              <p>
                None of its requests passes meanwhile{isBlocked ? ', counted from now instead of the present end' : ''}.
              </p>
              <Length value={length} onChange={setLength} />
            </>
          )}
          {asked === 'unblock' && <p>Its requests pass again, as far as its limits allow.</p>}
        </Confirm>
      )}
    </>
  )
}

/** Does it, and says how it ended. */
async function act(action: Action, readable: string, lengthMs: number): Promise<string> {
  if (action === 'reset') {
    await api('DELETE', keyPath('/v1/keys/', readable))
    return 'Reset: the key starts with its whole limits.'
  }
  const path = keyPath('/v1/blocks/', readable)
  if (action === 'block') {
    await api('PUT', path, { body: { for: lengthMs } })
    return 'Blocked: none of its requests passes.'
  }
  const { unblocked } = await api<{ unblocked: boolean }>('DELETE', path)
  return unblocked ? 'Unblocked: its limits alone decide again.' : 'It was not blocked.'
}

function usedText({ limits, holds }: Inspection): string {
  const used = limits
    .filter(({ block }) => !block)
    .map(({ name, amount, remaining }) => `${Math.max(0, amount - remaining).toLocaleString('en')} of ${name}`)
  return [...used, ...(holds.length > 0 ? [`${holds.length} open holds`] : [])].join(', ')
}
