import PQueue from 'p-queue'
import type { Contender } from '../contenders/contender.ts'
import { manyPlaces } from './places.ts'

/** Tasks of p-queue with an interval cap. */
export async function open(): Promise<Contender<boolean>> {
  const queue = new PQueue({ intervalCap: manyPlaces.amount, interval: Number.parseInt(manyPlaces.per, 10) })
  return {
    decide: async () => (await queue.add(async () => true)) ?? false,
    allowed: (answer) => answer,
    close: async () => queue.clear(),
  }
}
