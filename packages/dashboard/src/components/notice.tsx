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
