import type { Contender } from '../contenders/contender.ts'
import { call, contenderOf } from './call.ts'

/** The call alone. The difference to the others is what they add. */
export async function open(): Promise<Contender<boolean>> {
  return contenderOf(call)
}
