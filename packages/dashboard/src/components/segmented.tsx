/** A few options of which one is selected. */
export function Segmented<Choice extends string>(props: {
  readonly label: string
  readonly choices: readonly { readonly value: Choice; readonly text: string }[]
  readonly value: Choice
  readonly onChange: (value: Choice) => void
}) {
  return (
    <fieldset class="segmented">
      <legend class="visually-hidden">{props.label}</legend>
      {props.choices.map(({ value, text }) => (
        <button key={value} type="button" aria-pressed={value === props.value} onClick={() => props.onChange(value)}>
          {text}
        </button>
      ))}
    </fieldset>
  )
}
