import type { ComponentChildren } from 'preact'

const marks = { good: '✓', bad: '✕', warn: '!', info: 'i' }

/** A sentence that stands out. What it means is told by its mark and its words, not by its colour alone. */
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
