import type { Contender } from '../contenders/contender.ts'

/** What is called through every breaker, and what each answers instead when it is open. */
export const call = (): Promise<boolean> => Promise.resolve(true)
export const fallback = (): boolean => false
export const fail = (): Promise<never> => Promise.reject(new Error('failed on purpose'))

/** More failures than any of the breakers needs to open. */
export const failuresToOpen = 100

/** A contender whose answers say themselves whether they are the call's or the fallback's. */
export function contenderOf(run: () => Promise<boolean>, close: () => void = () => undefined): Contender<boolean> {
  return { decide: run, allowed: (answer) => answer, close: async () => close() }
}
