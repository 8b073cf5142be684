/** A field that narrows a list down while it is typed into. */
export function SearchField(props: {
  readonly label: string
  readonly placeholder: string
  readonly value: string
  readonly onChange: (value: string) => void
  readonly class?: string
}) {
  return (
    <label class={props.class}>
      <span class="visually-hidden">{props.label}</span>
      <input
        class="input"
        type="search"
        placeholder={props.placeholder}
        value={props.value}
        onInput={(event) => props.onChange(event.currentTarget.value)}
      />
    </label>
  )
}
