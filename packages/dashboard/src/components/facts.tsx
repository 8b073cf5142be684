import type { ComponentChildren } from 'preact'

/** What is known of something, as names and values. Facts that are not known are left out. */
export function Facts(props: {
  readonly rows: readonly (readonly [name: string, value: ComponentChildren, title?: string] | null)[]
  readonly class?: string
}) {
  return (
    <dl class={`facts ${props.class ?? ''}`}>
      {props.rows
        .filter((row) => row !== null)
        .map(([name, value, title]) => [
          <dt key={`${name} name`}>{name}</dt>,
          <dd key={name} title={title}>
            {value}
          </dd>,
        ])}
    </dl>
  )
}
