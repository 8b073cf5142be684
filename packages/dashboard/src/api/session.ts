import { createValue, useValue } from '../hooks/value.ts'
import type { Session as Answer } from './shapes.ts'

/** Whether this page may call the daemon, and if not, why. */
export type Session = 'unknown' | 'signed-in' | 'signed-out' | 'expired' | 'code-refused'

export const session = createValue<Session>('unknown')

export type SessionState = Omit<Answer, 'endsAt' | 'name'>

/** Who is signed in, as far as the page must know. */
export const person = createValue<SessionState>({ signedIn: false, role: null, secure: true })

export const useSession = (): Session => useValue(session)
