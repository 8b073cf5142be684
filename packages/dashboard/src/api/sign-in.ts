import { api } from './api.ts'
import { person, type SessionState, session } from './session.ts'

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
  const state = await api<SessionState>('GET', '/v1/session').catch(() => undefined)
  if (state !== undefined) person.set(state)
  if (state?.signedIn) session.set('signed-in')
  else if (code === undefined) session.set('signed-out')
  else await signIn(code).catch(() => session.set('code-refused'))
}

/**
 * Shows the sign-in when the session has ended, such as by a restart of the daemon with another token. Resolves with
 * whether the daemon answered.
 */
export async function checkSession(): Promise<boolean> {
  const state = await api<SessionState>('GET', '/v1/session').catch(() => undefined)
  if (state?.signedIn === false) session.set('expired')
  return state !== undefined
}

/** Exchanges a one-time code or the admin token for a cookie that scripts cannot read; nothing is stored here. */
export async function signIn(secret: string): Promise<void> {
  person.set(await api<SessionState>('POST', '/v1/session', { body: { secret }, isSignIn: true }))
  session.set('signed-in')
}

export async function signOut(): Promise<void> {
  await api('DELETE', '/v1/session')
  session.set('signed-out')
}
