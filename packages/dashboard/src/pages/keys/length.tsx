const lengths = [
  ['900000', '15 minutes'],
  ['3600000', '1 hour'],
  ['14400000', '4 hours'],
  ['86400000', '24 hours'],
  ['604800000', '7 days'],
] as const

interface Props {
  /** In milliseconds. */
  readonly value: string
  readonly onChange: (value: string) => void
}

/** For how long something holds. */
export function Length({ value, onChange }: Props) {
  return (
    <label class="length">
      <span>for</span>
      <select
        class="input"
        aria-label="for how long"
        value={value}
        onChange={(event) => onChange(event.currentTarget.value)}
      >
        {lengths.map(([ms, text]) => (
          <option key={ms} value={ms}>
            {text}
          </option>
        ))}
      </select>
    </label>
  )
}
