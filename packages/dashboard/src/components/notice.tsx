import type { ComponentChildren } from 'preact'
import { ApiError } from '../api/api.ts'

const marks = { good: '✓', bad: '✕', warn: '!', info: 'i' }

/** A highlighted sentence. Its icon and its words carry the meaning, not its colour alone. */
export function Notice(props: {
  readonly kind: keyof typeof marks
  readonly children: ComponentChildren
  readonly live?: boolean
}) {
  return (
    <div class={`notice notice-${props.kind}`} role={props.live ? 'status' : undefined}>
      <span class="notice-mark" aria-hidden="true">
        {marks[props.kind]}
      </span>
      <div>{props.children}</div>
    </div>
  )
}

/** How an action of the reader ended. */
export interface Done {
  readonly kind: keyof typeof marks
  readonly text: string
}

/** How an action failed; that somebody else was faster is no fault. */
export function failed(error: unknown): Done {
  const { message } = error as Error
  if (!(error instanceof ApiError) || error.status !== 412) return { kind: 'bad', text: message }
  const text = `Nothing was changed: somebody else changed the policy meanwhile. ${message} Look again, and apply it anew.`
  return { kind: 'warn', text }
}

/** Says how an action ended, if there was one. */
export function DoneNotice({
  done,
  children,
}: {
  readonly done: Done | undefined
  readonly children?: ComponentChildren
}) {
  if (done === undefined) return null
  return (
    <Notice kind={done.kind} live>
      {done.text} {children}
    </Notice>
  )
}
