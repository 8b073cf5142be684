import { planKeys } from '../measure/subjects.ts'
import type { Contender, Setup } from './contender.ts'

/** What the machine itself takes to find one of so many entries of a `Map`, and to resolve a promise with it. */
export async function open({ plans = 1, asked = 1 }: Setup): Promise<Contender<string | undefined>> {
  const map = new Map<string, string>()
  for (const key of planKeys(plans, asked)) map.set(key, 'plan')
  return {
    decide: (subject) => Promise.resolve(map.get(subject)),
    allowed: (plan) => plan !== undefined,
    async close() {},
  }
}
