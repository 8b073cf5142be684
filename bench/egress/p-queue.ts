import PQueue from 'p-queue'
import type { Contender } from '../contenders/contender.ts'
import { wideLimit } from './limits.ts'

/** Tasks of p-queue with an interval cap. */
export async function open(): Promise<Contender<unknown>> {
  const queue = new PQueue({ intervalCap: wideLimit.amount, interval: 1000 })
  return {
    // Nothing around it: another promise would be counted as its work.
    decide: () => queue.add(async () => true),
    allowed: (answer) => answer === true,
    close: async () => queue.clear(),
  }
}
