import { useState } from 'preact/hooks'
import { goTo, linkTo, useRoute } from '../../hooks/router.ts'

const fields = {
  ip: { label: 'as if it came from', placeholder: '192.0.2.1' },
  context: { label: 'with the context', placeholder: 'user.plan=pro, user.id=42' },
  tier: { label: 'as if its tier were', placeholder: 'pro' },
} as const

interface Props {
  readonly names: readonly (keyof typeof fields)[]
  /** False: shown only where the address of the view has a value. */
  readonly isNeeded?: boolean
}

/** What neither a key nor a pasted request says, and rules read: the source address, the context, the tier. */
export function Assumed({ names, isNeeded = true }: Props) {
  const { query } = useRoute()
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  if (!isNeeded && names.every((name) => !query[name])) return null
  return (
    <form
      class="assumed"
      onSubmit={(event) => {
        event.preventDefault()
        goTo(linkTo(['keys'], { ...query, ...texts }), { replace: true })
      }}
    >
      {names.map((name) => (
        <span key={name}>
          <label for={`assumed-${name}`}>{fields[name].label}</label>
          <input
            id={`assumed-${name}`}
            class="input mono"
            placeholder={fields[name].placeholder}
            value={texts[name] ?? query[name] ?? ''}
            onInput={(event) => setTexts({ ...texts, [name]: event.currentTarget.value.trim() })}
          />
        </span>
      ))}
      <button class="button" type="submit">
        Apply
      </button>
    </form>
  )
}

/** `user.plan=pro, user.id=42` as `{ user: { plan: 'pro', id: '42' } }`; undefined for an empty text. */
export function contextOf(text: string): object | undefined {
  const context: Record<string, unknown> = {}
  for (const line of text.split(',')) {
    const [, path, value] = /^\s*([^=\s]+)\s*=\s*(.*?)\s*$/.exec(line) ?? []
    if (path === undefined) continue
    const steps = path.split('.')
    const last = steps.pop()!
    let place = context
    for (const step of steps) {
      const next = place[step]
      place = place[step] = (typeof next === 'object' ? next : {}) as never
    }
    place[last] = value
  }
  return Object.keys(context).length === 0 ? undefined : context
}
