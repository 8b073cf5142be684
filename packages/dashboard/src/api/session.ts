import { createValue, useValue } from '../hooks/value.ts'

/** Whether this page may call the daemon, and if not, why. */
export type Session = 'unknown' | 'signed-in' | 'signed-out' | 'expired' | 'code-refused'

export const session = createValue<Session>('unknown')

/** Who is signed in, as far as the page must know. */
export interface SessionState {
  readonly signedIn: boolean
  readonly role: 'admin' | 'read' | null
  /** Whether the daemon knows that the page came over TLS. */
  readonly secure: boolean
}

export const person = createValue<SessionState>({ signedIn: false, role: null, secure: true })

export const useSession = (): Session => useValue(session)
