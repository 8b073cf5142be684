import { session } from '../app/session.ts'
import { api } from './api.ts'

let token = ''

/** Kept only in memory of this tab. */
export const tokenHeaders = (): Record<string, string> => (token === '' ? {} : { authorization: `Bearer ${token}` })

/** Finds out whether this browser is signed in already. */
export async function resumeSession(): Promise<void> {
  await api('GET', '/v1/policy').then(
    () => session.set('signed-in'),
    () => {},
  )
}

export async function signIn(secret: string): Promise<void> {
  token = secret
  await api('GET', '/v1/policy')
  session.set('signed-in')
}
