import { useEffect, useRef, useState } from 'preact/hooks'
import { ApiError } from '../api/api.ts'
import type { Session } from '../api/session.ts'
import { signIn } from '../api/sign-in.ts'

const reasons: Readonly<Partial<Record<Session, string>>> = {
  expired: 'Your session has ended, or the daemon was restarted. Sign in again; you will be where you were.',
  'code-refused':
    'The code in the link was used already or is older than a minute. Press Enter where sluice serve runs for another.',
}

/** Asks for the code that `sluice serve` prints, or the token. The view behind it stays in the address. */
export function SignIn({ why }: { readonly why: Session }) {
  const [secret, setSecret] = useState('')
  const [problem, setProblem] = useState('')
  const [isBusy, setBusy] = useState(false)
  const input = useRef<HTMLInputElement>(null)
  // It is the only control here.
  useEffect(() => input.current?.focus(), [])
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setBusy(true)
    setProblem('')
    try {
      await signIn(secret)
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : 'The daemon cannot be reached.')
      setBusy(false)
    }
  }
  return (
    <main class="sign-in" id="main">
      <form class="panel" onSubmit={submit}>
        <h1 class="page-title">Sign in to Sluice</h1>
        {reasons[why] && <p class="soft">{reasons[why]}</p>}
        <label for="secret">Code or admin token</label>
        <input
          id="secret"
          ref={input}
          class="input mono"
          type="password"
          autocomplete="off"
          spellcheck={false}
          required
          value={secret}
          aria-invalid={problem !== ''}
          aria-describedby="secret-help secret-problem"
          onInput={(event) => setSecret(event.currentTarget.value)}
        />
        <p class="problem" id="secret-problem" role="alert">
          {problem}
        </p>
        <button class="button button-primary" type="submit" disabled={isBusy}>
          Sign in
        </button>
        <p class="soft small" id="secret-help">
          <code>sluice serve</code> prints a link with a code that works once, within a minute; press Enter there for
          another. The token is the one it was started with.
        </p>
      </form>
    </main>
  )
}
