import type { Contender } from '../contenders/contender.ts'

/** The function that is called through every breaker, and the fallback when it is open. */
export const call = (): Promise<boolean> => Promise.resolve(true)
export const fallback = (): boolean => false
export const fail = (): Promise<never> => Promise.reject(new Error('failed on purpose'))

/** More failures than any of the breakers needs to open. */
export const failuresToOpen = 100

/** A contender whose answers show whether they come from the call or the fallback. */
export function contenderOf(run: () => Promise<boolean>, close: () => void = () => undefined): Contender<boolean> {
  return { decide: run, allowed: (answer) => answer, close: async () => close() }
}
