import { createValue, useValue } from '../hooks/value.ts'

/** Whether this page may call the daemon, and if not, why. */
export type Session = 'unknown' | 'signed-in' | 'signed-out' | 'expired' | 'code-refused'

export const session = createValue<Session>('unknown')

export const useSession = (): Session => useValue(session)
