import type { Contender, Setup } from '../contenders/contender.ts'

/** What every cache keeps: about 250 bytes of JSON. */
export const value: { readonly id: string; readonly text: string; readonly price: number } = {
  id: 'XLM',
  text: 'x'.repeat(210),
  price: 0.12345,
}

/** Long enough that nothing expires while it is measured. */
export const ttlSeconds = 3600

/**
 * Called for a subject that is in no level. The first pass over all subjects fills them; after that it must not be
 * called.
 */
export function fetchOnce(): (subject: string) => typeof value {
  const seen = new Set<string>()
  return (subject) => {
    if (seen.has(subject)) throw new Error(`${subject} was fetched again: this measures hits`)
    seen.add(subject)
    return value
  }
}

/** The key for a subject: where misses are measured, a key that was never used. */
export function namesFor({ lookups }: Setup): (subject: string) => string {
  let asked = 0
  return lookups === 'miss' ? (subject) => `${subject}-${asked++}` : (subject) => subject
}

/** Fetches a subject once; fetches after that never end, so that all answers are stale. */
export function fetchOnceThenHang(): (subject: string) => Promise<typeof value> {
  const seen = new Set<string>()
  const never = new Promise<never>(() => undefined)
  return (subject) => {
    if (seen.has(subject)) return never
    seen.add(subject)
    return Promise.resolve(value)
  }
}

/** A cache as a contender: its answer must be the value. */
export function contenderOf(
  decide: (subject: string) => Promise<typeof value | undefined>,
  close: () => Promise<unknown> | unknown = () => undefined,
): Contender<typeof value | undefined> {
  return {
    decide,
    allowed: (answer) => answer?.price === value.price,
    close: async () => void (await close()),
  }
}
