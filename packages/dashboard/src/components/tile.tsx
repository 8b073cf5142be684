import type { ComponentChildren } from 'preact'

/** One number, its unit, its reference, and a sparkline. */
export function Tile(props: {
  readonly label: string
  readonly value: string
  readonly unit?: string
  readonly note?: ComponentChildren
  readonly children?: ComponentChildren
}) {
  return (
    <div class="tile">
      <div class="soft small">{props.label}</div>
      <div class="tile-value">
        {props.value}
        {props.unit && <small>{props.unit}</small>}
      </div>
      <div class="tile-foot">
        <span class="soft small">{props.note}</span>
        {props.children}
      </div>
    </div>
  )
}
