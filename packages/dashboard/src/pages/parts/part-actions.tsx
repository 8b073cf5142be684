import { useRef, useState } from 'preact/hooks'
import { api } from '../../api/api.ts'
import { person } from '../../api/session.ts'
import { Confirm } from '../../components/confirm.tsx'
import { type Done, DoneNotice } from '../../components/notice.tsx'
import { useValue } from '../../hooks/value.ts'
import { type Ordered, outcomeOf, wordsOf } from './action-words.ts'
import type { PartRow, Replica } from './rows.ts'

export interface Asked {
  readonly row: PartRow
  readonly action: string
}

/** What an admin can have the part of a row do. */
export function PartButtons({ row, onAsk }: { readonly row: PartRow; readonly onAsk: (asked: Asked) => void }) {
  const isAdmin = useValue(person).role === 'admin'
  if (!isAdmin || row.offers.length === 0) return null
  return (
    <div class="part-actions">
      {row.offers.map((action) => {
        const label = `${wordsOf(action).title} …`
        return (
          <button
            key={action}
            class="button"
            type="button"
            aria-label={`${label} ${row.name} of ${row.process}`}
            onClick={() => onAsk({ row, action })}
          >
            {label}
          </button>
        )
      })}
    </div>
  )
}

/** Asks for confirmation, orders the action, and says what became of the last one. */
export function PartActions(props: {
  readonly asked: Asked | undefined
  readonly onEnd: () => void
  readonly replicas: readonly Replica[]
  readonly nowMs: number
}) {
  const { asked, onEnd, replicas, nowMs } = props
  const [ordered, setOrdered] = useState<Ordered>()
  const [refused, setRefused] = useState<Done>()
  const ended = useRef<{ readonly id: string; readonly done: Done }>(undefined)
  const order = async ({ row, action }: Asked): Promise<void> => {
    const title = `${wordsOf(action).title} ${row.name} of ${row.process}`
    try {
      const path = `/v1/parts/${encodeURIComponent(row.replica)}/actions`
      const { id } = await api<{ readonly id: string }>('POST', path, { body: { ...row.target, action } })
      setOrdered({ id, replica: row.replica, title, atMs: Date.now() })
      setRefused(undefined)
    } catch (failure) {
      setRefused({ kind: 'bad', text: `${title}: ${(failure as Error).message}` })
    }
  }
  const outcome = ordered && outcomeOf(ordered, replicas, nowMs)
  // A process reports its last eight only.
  if (ordered && outcome?.isFinal && ended.current?.id !== ordered.id)
    ended.current = { id: ordered.id, done: outcome.done }
  const known = ended.current?.id === ordered?.id ? ended.current?.done : outcome?.done
  return (
    <>
      <DoneNotice done={refused ?? known} />
      {asked && (
        <Confirm
          title={`${wordsOf(asked.action).title} ${asked.row.name}?`}
          action={wordsOf(asked.action).title}
          onConfirm={() => order(asked)}
          onClose={onEnd}
        >
          <p>{wordsOf(asked.action).text}</p>
          <p class="soft small">In the process {asked.row.process} only. It takes the order with its next report.</p>
        </Confirm>
      )}
    </>
  )
}
