import { api } from './api.ts'
import { session } from './session.ts'

interface SessionState {
  readonly signedIn: boolean
}

/**
 * Checks whether this browser is signed in. The link that `sluice serve` prints has a code after `#`: it is removed
 * from the address at once, and used.
 */
export async function resumeSession(): Promise<void> {
  const [, code] = /^#code=([\w-]+)$/.exec(location.hash) ?? []
  if (code !== undefined) {
    history.replaceState(null, '', '#/')
    dispatchEvent(new HashChangeEvent('hashchange'))
  }
  const { signedIn } = await api<SessionState>('GET', '/v1/session').catch(() => ({ signedIn: false }))
  if (signedIn) session.set('signed-in')
  else if (code === undefined) session.set('signed-out')
  else await signIn(code).catch(() => session.set('code-refused'))
}

/** Shows the sign-in when the session has ended, such as by a restart of the daemon with another token. */
export async function checkSession(): Promise<void> {
  const { signedIn } = await api<SessionState>('GET', '/v1/session').catch(() => ({ signedIn: true }))
  if (!signedIn) session.set('expired')
}

/** Exchanges a one-time code or the admin token for a cookie that scripts cannot read; nothing is stored here. */
export async function signIn(secret: string): Promise<void> {
  await api('POST', '/v1/session', { body: { secret }, isSignIn: true })
  session.set('signed-in')
}

export async function signOut(): Promise<void> {
  await api('DELETE', '/v1/session')
  session.set('signed-out')
}
