import type { ComponentChildren } from 'preact'

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
