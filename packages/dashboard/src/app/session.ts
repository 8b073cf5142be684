import { createValue, useValue } from './value.ts'

/** Whether this page may ask the daemon. */
export type Session = 'unknown' | 'signed-in' | 'signed-out'

export const session = createValue<Session>('unknown')

export const useSession = (): Session => useValue(session)
