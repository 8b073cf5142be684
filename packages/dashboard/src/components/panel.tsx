import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

/** A card with a heading, the reference period in grey, and actions on the right. */
export function Panel(props: {
  readonly title: string
  readonly note?: ComponentChildren
  readonly actions?: ComponentChildren
  readonly class?: string
  readonly children: ComponentChildren
}) {
  const id = useId()
  return (
    <section class={`panel ${props.class ?? ''}`} aria-labelledby={id}>
      <div class="panel-head">
        <h2 id={id}>{props.title}</h2>
        {props.note !== undefined && <span class="soft small">{props.note}</span>}
        {props.actions !== undefined && <div class="panel-actions">{props.actions}</div>}
      </div>
      {props.children}
    </section>
  )
}
