import { useState } from 'preact/hooks'
import { ApiError } from '../api/api.ts'
import { signIn } from '../api/sign-in.ts'

export function SignIn() {
  const [secret, setSecret] = useState('')
  const [problem, setProblem] = useState('')
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault()
    setProblem('')
    try {
      await signIn(secret)
    } catch (error) {
      setProblem(error instanceof ApiError ? error.message : 'The daemon cannot be reached.')
    }
  }
  return (
    <main class="sign-in" id="main">
      <form class="panel" onSubmit={submit}>
        <h1 class="page-title">Sluice</h1>
        <label for="secret">Code or admin token</label>
        <input
          id="secret"
          class="input"
          type="password"
          autocomplete="off"
          required
          value={secret}
          onInput={(event) => setSecret(event.currentTarget.value)}
        />
        <p role="alert">{problem}</p>
        <button class="button button-primary" type="submit">
          Sign in
        </button>
      </form>
    </main>
  )
}
